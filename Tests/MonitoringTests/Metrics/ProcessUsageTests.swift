import Core
import Glibc
import System
import TestSupport
import Testing

@testable import Monitoring

@Suite("Kernel statistics of the process")
struct ProcessUsageTests {
    private static let units = ProcessUsage.Units(ticksPerSecond: 100, page: 4096)
    /// As in proc(5), from field 3 on.
    private static let fields =
        "S 1 7 7 0 -1 4194560 900 0 3 0 1234 66 0 0 20 0 4 0 98765 123456789 2048 18446744073709551615 1 2 3 4 5"

    private func read(_ text: String) -> ProcessUsage.Status? {
        ProcessUsage.Status(Array(text.utf8), Self.units)
    }

    @Test(
        "The status line is parsed by its fields, whatever the program's name",
        arguments: ["harebell", "a) R 1 (b", ""])
    func line(name: String) throws {
        let status = try #require(read("42 (\(name)) \(Self.fields)\n"))
        #expect(status.cpu == .milliseconds(13_000))
        #expect(status.begin == .milliseconds(987_650))
        #expect(status.residentBytes == 8_388_608)
    }

    @Test(
        "A short or impossible status line yields nothing",
        arguments: [
            "", "42 (harebell", "42 (harebell)", "42 (harebell) S 1 2 3",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 -5 0 0 0 20 0 4 0 98765 1 1",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 x 0 0 0 20 0 4 0 98765 1 1",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 1 0 0 0 20 0 4 0 9223372036854775807000 1 1",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 1 0 0 0 20 0 4 0 1 1 9223372036854775807",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 9223372036854775807 0 0 0 20 0 4 0 1 1 1",
            "42 (harebell) S 1 7 7 0 -1 1 900 0 3 0 9223372036854775807 9223372036854775807 0 0 20 0 4 0 1 1 1",
        ])
    func oddLine(text: String) {
        #expect(read(text) == nil)
    }

    @Test(
        "The soft limit of descriptors is parsed, and an unlimited one is none",
        arguments: [
            (
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                    + "Max processes             31000                31000                processes \n"
                    + "Max open files            1024                 524288               files     \n", 1024
            ),
            ("Max open files            unlimited            unlimited            files     \n", nil),
            ("Max open files", nil), ("", nil),
        ] as [(String, Int?)])
    func limit(text: String, expected: Int?) {
        #expect(ProcessUsage.descriptorLimit(in: Array(text.utf8)) == expected)
    }

    @Test("All values of this process are known, and agree with other sources")
    func own() throws {
        let meter = ProcessMeter(at: SystemClock.now())
        let before = meter.read()
        var limit = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        #expect(before.maximumDescriptors == Int(limit.rlim_cur))
        let resident = try #require(before.residentBytes)
        #expect(resident > 1_000_000)
        let age = SystemClock.now().wall.milliseconds - (try #require(before.startedAt).milliseconds)
        #expect(age >= 0 && age < 24 * 3_600_000)
        // Work takes at least one clock tick of a processor.
        let used = try #require(before.cpu)
        var work: UInt64 = 1
        var after = before
        while after.cpu == used {
            for _ in 0..<100_000 { work = work &* 6_364_136_223_846_793_005 &+ 1 }
            after = meter.read()
        }
        #expect(work != 0)
        #expect(try #require(after.cpu) > used)
        #expect(after.startedAt == before.startedAt)
    }

    @Test("A folder's entries are counted, dot files included, without the folder itself")
    func folder() throws {
        let folder = try TemporaryDirectory()
        #expect(try Folder.count(folder.path) == 0)
        for name in ["a", ".b", "..c", "...", "d"] { try WholeFile.write("x".utf8, to: folder.file(name)) }
        #expect(try Folder.count(folder.path) == 5)
        #expect(throws: WholeFile.Failure.system("No such file or directory")) {
            try Folder.count(folder.file("missing"))
        }
        #expect(throws: WholeFile.Failure.system("Not a directory")) { try Folder.count(folder.file("a")) }
    }
}
