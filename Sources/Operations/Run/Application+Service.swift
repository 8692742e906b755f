import Core
import Logging
import Monitoring
import System

/// What the service manager hears, where one started the process and wants to.
extension Application {
    /// A socket that takes nothing costs its log line once, and no notification.
    func tell(_ state: ServiceManager.State) {
        guard let manager else { return }
        do throws(EventLoopError) {
            try manager.tell(state)
        } catch {
            if !hasToldInVain { log.warning("\(error)") }
            hasToldInVain = true
        }
    }

    /// The watchdog's sign of life, twice in its time, as long as every worker answers.
    func showLife(at now: Instant) {
        guard let interval = manager?.watchdog, let due = nextSignOfLife, due <= now else { return }
        nextSignOfLife = now + interval / 2
        if watch.seen(at: now).allSatisfy(\.isAlive) { tell(.alive) }
    }
}
