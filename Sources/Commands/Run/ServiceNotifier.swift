import Core
import Logging
import System

/// Reports the state of the process to the service manager, if it started the process with notifications.
struct ServiceNotifier {
    /// `nil` without notifications.
    private let manager: ServiceManager?
    private let log: Logger
    private var hasFailed = false
    /// When the next keep-alive is due; `nil` without a watchdog.
    private(set) var nextKeepAlive: Instant?

    init(_ manager: ServiceManager?, _ log: Logger, at now: Instant) {
        self.manager = manager
        self.log = log
        if manager?.watchdog != nil { nextKeepAlive = now }
    }

    /// Only the first failure is logged.
    mutating func notify(_ state: ServiceManager.State) {
        guard let manager else { return }
        do throws(EventLoopError) {
            try manager.notify(state)
        } catch {
            if !hasFailed { log.warning("\(error)") }
            hasFailed = true
        }
    }

    /// Sends the watchdog's keep-alive, twice per interval, while the workers are alive.
    mutating func sendKeepAlive(at now: Instant, ifAlive isAlive: () -> Bool) {
        guard let interval = manager?.watchdog, let due = nextKeepAlive, due <= now else { return }
        nextKeepAlive = now + interval / 2
        if isAlive() { notify(.alive) }
    }
}
