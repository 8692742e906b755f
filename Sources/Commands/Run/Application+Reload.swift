import Configuration
import Core
import Logging
import Runtime
import System
import TLS

/// Reloads the configuration. All steps that can fail happen here, before a worker receives the new plan.
extension Application {
    /// The stamps of the files that exist, by path.
    static func stamps(_ paths: some Sequence<String>) -> [String: FileStamp] {
        paths.reduce(into: [:]) { $0[$1] = FileStamp($1) }
    }

    /// Reloads if a file has changed and appears completely written. A failed reload is repeated until it succeeds:
    /// its cause may be a file that is not watched, a permission, or the time of a certificate.
    func checkFiles(at now: Moment) {
        guard !shutdown.isDraining, file.watch.nextCheck <= now.instant else { return }
        switch file.watch.checked(Self.stamps(plan.configuration.files(file.path)), at: now.instant) {
        case .changed:
            log.notice("a file has changed or is gone: reloading the configuration")
            reload(at: now)
        case .unchanged where !file.problems.isEmpty: readFiles(at: now)
        case .unchanged, .changing: break
        }
    }

    /// Reads the broker's password file again and gives a new password to every connection.
    ///
    /// - Parameter isComplete: whether the file is known to be written to its end.
    func checkPasswordFile(isComplete: Bool = false, at now: Moment) {
        guard var watch = file.password else { return }
        let finding = watch.checked(ConfigurationFiles.secret(in: watch.file), isComplete: isComplete, at: now)
        file.password = watch
        var fields: Logger.Metadata = ["file": "\(watch.file)"]
        if let end = watch.token?.expires { fields["expires"] = "\(end.inUTC)" }
        switch finding {
        case .renewed?:
            plan.configuration.broker.password = watch.secret
            workers.post(.renewPassword(watch.secret))
            log.notice("the broker's password has changed: connections use the new one", metadata: fields)
        case .unreadable(let reason)?:
            log.error("broker.password_file: cannot read \(watch.file): \(reason). The previous password stays in use")
        case .expiresSoon?:
            log.warning("broker.password_file: the token expires, and the file contains no newer one", metadata: fields)
        case nil: break
        }
    }

    /// Reads the configuration file and all files that it names again.
    func reload(at now: Moment) {
        guard !shutdown.isDraining else { return log.warning("draining: the configuration is not reloaded") }
        checkPasswordFile(isComplete: true, at: now)
        // A process that is not ready yet reports ready later.
        if hasReportedReady { service.notify(.reloading(since: now.instant)) }
        // So that each one is logged.
        file.problems = []
        readFiles(at: now)
        if hasReportedReady { service.notify(.ready) }
    }

    private func readFiles(at now: Moment) {
        // From before they are read: files that change during the reload are read once more.
        var stamps = Self.stamps(plan.configuration.files(file.path))
        defer {
            let watched = plan.configuration.files(file.path)
            file.watch = FileWatch(reading: stamps.filter { watched.contains($0.key) }, at: now.instant)
        }
        let inspection = ConfigurationInspection(path: file.path, now: now.wall)
        let errors = inspection.reloadErrors(using: plan.apps.compactMap(\.certificate))
        guard errors.isEmpty, let configuration = inspection.document?.configuration else {
            return refuse(errors.map(\.description))
        }
        stamps.merge(Self.stamps(configuration.files(file.path))) { before, _ in before }
        do throws(TLSError) {
            try reconfigure(to: configuration, at: now)
        } catch {
            return refuse([error.description])
        }
        for problem in inspection.problems { log.warning("\(problem)") }
    }

    private func reconfigure(to new: Configuration, at now: Moment) throws(TLSError) {
        let reload = Reload(new, after: plan.configuration)
        let next = try AppPlan(reload.configuration, after: plan)
        var contexts: [AppPlan.Contexts] = []
        for _ in workers.commands { contexts.append(try next.makeContexts(after: plan)) }
        for key in reload.needsRestart {
            log.warning("a change requires a restart: the old value stays in force", metadata: ["key": "\(key)"])
        }
        for (mailbox, contexts) in zip(workers.commands, contexts) { mailbox.post(.reload(next, contexts)) }
        threshold.level = next.configuration.log.level
        let changes = next.changes(after: plan, with: contexts.first ?? [])
        log.notice("reloaded", metadata: changes.mapValues { .array($0.map { "\($0)" }) })
        plan = next
        file.problems = []
    }

    private func refuse(_ problems: [String]) {
        for problem in problems where !file.problems.contains(problem) {
            log.error("the configuration was not reloaded: \(problem)")
        }
        file.problems = problems
    }
}

extension Configuration {
    /// The files whose change causes a reload: the configuration file, and the keys and certificates of its apps.
    func files(_ own: String) -> Set<String> {
        Set([own] + apps.flatMap { $0.credential.files + [$0.caFile].compactMap(\.self) }.map(\.path))
    }
}

extension Configuration.Credential {
    fileprivate var files: [FilePath] {
        switch self {
        case .token(let keyFile, _, _): [keyFile]
        case .pem(let certificateFile, let privateKeyFile): [certificateFile, privateKeyFile]
        case .p12(let file, _): [file]
        }
    }
}
