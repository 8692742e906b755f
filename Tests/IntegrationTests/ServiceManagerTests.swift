import Glibc
import TestSupport
import Testing

extension ProcessTests {
    /// `harebell run` under a service manager; see `docs/operate/deployment.md`.
    @Suite("Service manager")
    struct ServiceManagerTests {
        /// Without the watchdog messages, which are sent when due.
        private static func states(_ socket: NotifySocket) -> [String] {
            socket.messages().filter { $0 != "WATCHDOG=1" }.map { String($0.prefix { $0 != "\n" }) }
        }

        private static func wait(_ worker: ChildProcess, _ socket: NotifySocket, for expected: [String]) throws {
            try eventually("\(expected), not \(socket.messages()); \(worker.report)") {
                states(socket) == expected ? true : nil
            }
        }

        @Test("It is notified of readiness, of each reload and its end, of the drain, and of the workers' turns")
        func life() throws {
            let stage = try Stage(script: "")
            let socket = try NotifySocket()
            let worker = try stage.launch(environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "200000"])
            try worker.waitForLine("ready", within: .seconds(60))
            try Self.wait(worker, socket, for: ["READY=1"])
            worker.signal(SIGHUP)
            try Self.wait(worker, socket, for: ["READY=1", "RELOADING=1", "READY=1"])
            // A wrong file ends a reload as well.
            try stage.directory.write("queus: []", to: "harebell.yaml")
            worker.signal(SIGHUP)
            try Self.wait(worker, socket, for: ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "READY=1"])
            let signs = socket.messages().count { $0 == "WATCHDOG=1" }
            try eventually("another sign of life; \(worker.report)") {
                socket.messages().count { $0 == "WATCHDOG=1" } > signs ? true : nil
            }
            try worker.end()
            #expect(Self.states(socket).suffix(2) == ["READY=1", "STOPPING=1"])
        }
    }
}
