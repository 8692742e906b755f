import Core
import Glibc
import System
import TestSupport
import Testing

@testable import Monitoring

@Suite("Kernel statistics of the process")
struct ProcessUsageTests {
    @Test("All values of this process are known, and agree with other sources")
    func own() throws {
        let meter = ProcessMeter(at: SystemClock.now())
        let before = meter.read()
        var limit = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        #expect(before.maximumDescriptors == Int(limit.rlim_cur))
        #expect(try #require(before.residentBytes) > 1_000_000)
        // Other tests open and close descriptors at the same time.
        let areEqual = try (0..<20).map { _ in try Folder.count("/proc/self/fd") - 1 == meter.read().openDescriptors }
        #expect(areEqual.contains(true))
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
        #expect(try #require(after.cpu) > used)
        #expect(work != 0 && after.startedAt == before.startedAt)
    }

    @Test("A folder's entries are counted, dot files included, without the folder itself")
    func folder() throws {
        let folder = try TemporaryDirectory()
        #expect(try Folder.count(folder.path) == 0)
        for name in ["a", ".b", "..c", "...", "d"] { try WholeFile.write("x".utf8, to: folder.file(name)) }
        errno = ENOENT
        #expect(try Folder.count(folder.path) == 5, "an earlier error does not matter")
        #expect(throws: WholeFile.Failure.system("No such file or directory")) {
            try Folder.count(folder.file("missing"))
        }
        #expect(throws: WholeFile.Failure.system("Not a directory")) { try Folder.count(folder.file("a")) }
    }
}
