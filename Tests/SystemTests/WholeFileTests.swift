import Glibc
import System
import TestSupport
import Testing

@Suite("Whole files")
struct WholeFileTests {
    @Test("A written file is read, up to the limit and not beyond")
    func reading() throws {
        let folder = try TemporaryDirectory()
        let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try WholeFile.write(content, to: folder.file("a"))
        #expect(try WholeFile.read(folder.file("a"), upTo: content.count) == content)
        #expect(throws: WholeFile.Failure.tooLarge(limit: content.count - 1)) {
            try WholeFile.read(folder.file("a"), upTo: content.count - 1)
        }
        try WholeFile.write("b".utf8, to: folder.file("a"))
        #expect(try WholeFile.read(folder.file("a"), upTo: 1) == Array("b".utf8))
        #expect(Executable.path(of: folder.file("a")) == nil && Executable.path(of: folder.path) == nil)
    }

    @Test("A file is read line by line, however long they are, and the last one may lack its newline")
    func lines() throws {
        let folder = try TemporaryDirectory()
        let lines = [[], [], [UInt8](repeating: 65, count: 70_000), [UInt8](repeating: 66, count: 70_000)]
        try folder.write(Array(lines.joined(separator: [10])), to: "a")
        let reader = try LineReader(folder.file("a"), longestLine: 70_000)
        for line in lines { #expect(try reader.next().map { Array($0) } == line) }
        #expect(try reader.next() == nil && reader.line == 4)
    }

    @Test(
        "A failed line is removed again, all synced ones stay, and the file can be removed", arguments: [false, true])
    func reverted(isSynced: Bool) throws {
        let folder = try TemporaryDirectory()
        let writer = try LineWriter(creating: folder.file("a"))
        for line in ["a", "bc"] { try writer.write(Array(line.utf8)) }
        if isSynced { try writer.sync() }
        try writer.write(Array("failed".utf8))
        writer.revert()
        #expect(try WholeFile.read(folder.file("a"), upTo: 100) == Array((isSynced ? "a\nbc\n" : "").utf8))
        writer.remove()
        #expect(unsafe access(folder.file("a"), F_OK) != 0)
    }

    @Test("A missing file, a folder to write to, or a full disk has the system's error text")
    func failures() throws {
        let folder = try TemporaryDirectory()
        #expect(throws: WholeFile.Failure.system("No such file or directory")) {
            try WholeFile.read(folder.file("a"), upTo: 1)
        }
        for (path, text) in [(folder.path, "Is a directory"), ("/dev/full", "No space left on device")] {
            #expect(throws: WholeFile.Failure.system(text)) { try WholeFile.write("a".utf8, to: path) }
        }
    }

    @Test("A FIFO, a device, a socket or a directory is refused as not a regular file, without waiting")
    func notRegular() throws {
        let folder = try TemporaryDirectory()
        #expect(unsafe mkfifo(folder.file("fifo"), 0o600) == 0)
        #expect(unsafe symlink(folder.file("fifo"), folder.file("link")) == 0)
        let socket = try NotifySocket()
        for path in [folder.file("fifo"), folder.file("link"), socket.name, folder.path, "/dev/null", "/dev/zero"] {
            #expect(throws: WholeFile.Failure.notRegular, "\(path)") { try WholeFile.read(path, upTo: 1) }
            #expect(throws: WholeFile.Failure.notRegular, "\(path)") { _ = try LineReader(path, longestLine: 1) }
        }
        withExtendedLifetime(socket) {}
        #expect("\(WholeFile.Failure.notRegular)" == "it is not a regular file")
    }

    @Test("A relative path starts at the folder of the file that names it")
    func paths() {
        #expect(WholeFile.path("/a/b", beside: "/etc/x.yaml") == "/a/b")
        #expect(WholeFile.path("b", beside: "x.yaml") == "b")
        #expect(WholeFile.path("b", beside: "a/x.yaml") == "a/b")
    }
}
