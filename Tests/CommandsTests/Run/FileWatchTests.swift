import Core
import Foundation
import System
import TestSupport
import Testing

@testable import Commands
@testable import Runtime

@Suite("Watching the configuration files")
struct FileWatchTests {
    private let folder: TemporaryDirectory
    private let paths: [String]

    init() throws {
        folder = try TemporaryDirectory()
        paths = ["harebell.yaml", "AuthKey.p8"].map(folder.file)
        for name in ["harebell.yaml", "AuthKey.p8"] { try folder.write("old", to: name) }
    }

    private var stamps: [String: FileStamp] { Application.stamps(paths) }

    private func watch() -> FileWatch {
        FileWatch(reading: stamps, at: Instant(nanoseconds: 0))
    }

    private func look(_ watch: inout FileWatch, _ seconds: Int64) -> Bool {
        watch.checked(stamps, at: Instant(nanoseconds: seconds * 1_000_000_000)) == .changed
    }

    @Test("A changed file is read again once it is unchanged between two checks")
    func written() throws {
        var watch = watch()
        #expect(watch.nextCheck == Instant(nanoseconds: 10_000_000_000))
        #expect(!look(&watch, 10) && !look(&watch, 20))
        try folder.write("new key", to: "AuthKey.p8")
        #expect(!look(&watch, 30))
        try folder.write("newer key!", to: "AuthKey.p8")
        #expect(!look(&watch, 40))
        #expect(look(&watch, 50))
        #expect(watch.nextCheck == Instant(nanoseconds: 60_000_000_000))
    }

    @Test("A replaced file has changed, also behind a symbolic link")
    func replaced() throws {
        try folder.write("one", to: "first")
        try folder.write("two", to: "second")
        try link(to: "first")
        var watch = watch()
        #expect(!look(&watch, 10))
        try link(to: "second")
        #expect(!look(&watch, 20) && look(&watch, 30))
    }

    private func link(to name: String) throws {
        try FileManager.default.removeItem(atPath: paths[1])
        try FileManager.default.createSymbolicLink(atPath: paths[1], withDestinationPath: folder.file(name))
    }

    @Test("A file that stays away is a change, and one that is back by the next check is not")
    func missing() throws {
        var watch = watch()
        try FileManager.default.moveItem(atPath: paths[1], toPath: folder.file("elsewhere"))
        #expect(!look(&watch, 10))
        try FileManager.default.moveItem(atPath: folder.file("elsewhere"), toPath: paths[1])
        #expect(!look(&watch, 20) && !look(&watch, 30))
        try FileManager.default.removeItem(atPath: paths[1])
        #expect(!look(&watch, 40) && look(&watch, 50))
    }
}
