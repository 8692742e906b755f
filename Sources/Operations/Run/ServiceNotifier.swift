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
    private(set) var nextSignOfLife: Instant?

    init(_ manager: ServiceManager?, _ log: Logger, at now: Instant) {
        self.manager = manager
        self.log = log
        if manager?.watchdog != nil { nextSignOfLife = now }
    }

    /// Only the first failure is logged.
    mutating func tell(_ state: ServiceManager.State) {
        guard let manager else { return }
        do throws(EventLoopError) {
            try manager.tell(state)
        } catch {
            if !hasFailed { log.warning("\(error)") }
            hasFailed = true
        }
    }

    /// Sends the watchdog's keep-alive, twice per interval, while the workers are alive.
    mutating func showLife(at now: Instant, ifAlive isAlive: () -> Bool) {
        guard let interval = manager?.watchdog, let due = nextSignOfLife, due <= now else { return }
        nextSignOfLife = now + interval / 2
        if isAlive() { tell(.alive) }
    }
}
