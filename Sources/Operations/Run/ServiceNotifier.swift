import Core
import Logging
import System

/// Notifies the service manager of the process's state, where one started the process and asked for that.
struct ServiceNotifier {
    /// `nil` where no service manager wants notifications.
    private let manager: ServiceManager?
    private let log: Logger
    private var hasFailed = false
    /// When the next sign of life is due; `nil` without a watchdog.
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

    /// Gives the watchdog's sign of life, twice in its time, as long as the workers are alive.
    mutating func showLife(at now: Instant, ifAlive isAlive: () -> Bool) {
        guard let interval = manager?.watchdog, let due = nextSignOfLife, due <= now else { return }
        nextSignOfLife = now + interval / 2
        if isAlive() { tell(.alive) }
    }
}
