import Core
import Glibc
import TestSupport
import Testing

@testable import System

@Suite("The service manager")
struct ServiceManagerTests {
    private func makeManager(_ environment: [String: String]) -> ServiceManager? {
        ServiceManager { environment[$0] }
    }

    @Test("Each state is one datagram, to a path and to an abstract name", arguments: [false, true])
    func states(isAbstract: Bool) throws {
        let socket = try NotifySocket(isAbstract: isAbstract)
        let manager = try #require(makeManager(["NOTIFY_SOCKET": socket.name]))
        try manager.notify(.ready)
        try manager.notify(.reloading(since: Instant(nanoseconds: 12_345_678_901)))
        try manager.notify(.alive)
        try manager.notify(.stopping)
        #expect(socket.messages() == ["READY=1", "RELOADING=1\nMONOTONIC_USEC=12345678", "WATCHDOG=1", "STOPPING=1"])
    }

    @Test("Without a valid NOTIFY_SOCKET there is no service manager")
    func absent() {
        #expect(makeManager([:]) == nil)
        for name in ["", "/", "@", "run/notify", "vsock:2:1234", "/" + String(repeating: "x", count: 107)] {
            #expect(makeManager(["NOTIFY_SOCKET": name]) == nil, "\(name)")
        }
        #expect(makeManager(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 106)]) != nil)
    }

    @Test("The watchdog's interval applies only to this process")
    func watchdog() {
        func watchdog(_ usec: String?, pid: String?) -> Duration? {
            var environment = ["NOTIFY_SOCKET": "/run/notify"]
            environment["WATCHDOG_USEC"] = usec
            environment["WATCHDOG_PID"] = pid
            return makeManager(environment)?.watchdog
        }
        #expect(watchdog("30000000", pid: nil) == .seconds(30))
        #expect(watchdog("30000000", pid: "\(getpid())") == .seconds(30))
        #expect(watchdog("30000000", pid: "1") == nil)
        for usec in [nil, "0", "soon"] { #expect(watchdog(usec, pid: nil) == nil, "\(usec ?? "none")") }
    }

    @Test("A socket that is gone is an error that names the unsent state")
    func gone() throws {
        let manager = try #require(makeManager(["NOTIFY_SOCKET": "/nowhere/notify"]))
        let error = #expect(throws: EventLoopError.self) { try manager.notify(.ready) }
        #expect(error?.code.rawValue == "ENOENT")
        #expect(error?.message == "cannot notify the service manager of READY: No such file or directory")
    }
}
