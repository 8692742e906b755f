import Core
import EventLoop
import Logging
import TLS

/// Going over to another configuration. Whatever can fail, fails here, before any worker hears of it.
extension Application {
    /// Reads the configuration file, and all that it names, again.
    func reload(at now: Moment) {
        guard !isDraining else { return log.warning("draining: the configuration is not read again") }
        // A process that is not ready yet becomes so in its own time.
        if saidReady { tell(.reloading(since: now.instant)) }
        defer { if saidReady { tell(.ready) } }
        let document: ConfigurationDocument
        do throws(ConfigurationError) {
            document = try ConfigurationDocument.load(path: file)
        } catch {
            return refuse(error.problems.map(\.description))
        }
        let problems = document.inspect(now: now.wall).problems
        let errors = problems.filter { $0.severity == .error }
        guard errors.isEmpty else { return refuse(errors.map(\.description)) }
        for problem in problems { log.warning("\(problem)") }
        do throws(TLSError) {
            try goOver(to: document.configuration, at: now)
        } catch {
            refuse([error.description])
        }
    }

    private func goOver(to new: Configuration, at now: Moment) throws(TLSError) {
        let reload = Reload(new, after: plan.configuration)
        let next = try AppPlan(reload.configuration, after: plan)
        var contexts: [AppPlan.Contexts] = []
        for _ in commands { contexts.append(try next.makeContexts(after: plan)) }
        for key in reload.needsRestart {
            log.warning("a change needs a restart: the old value stays in force", metadata: ["key": "\(key)"])
        }
        for (mailbox, contexts) in zip(commands, contexts) { mailbox.post(.reload(next, contexts)) }
        threshold.level = next.configuration.log.level
        certificates = CertificateWatch(next.certificates, at: now.instant)
        let made = contexts.first?.count { $0 != nil } ?? 0
        log.notice("reloaded", metadata: ["apps": "\(next.apps.count)", "new_pools": "\(made)"])
        plan = next
    }

    private func refuse(_ problems: [String]) {
        for problem in problems { log.error("the configuration stays as it is: \(problem)") }
    }
}
