import APNs
package import Admin
import Configuration
package import Core
import Logging
import Monitoring
import Runtime
import System
import TLS

/// The admin server's pages, from the workers' snapshots.
extension Application {
    /// The workers run without the admin server if its port is in use, or the machine lacks descriptors or memory.
    ///
    /// - Returns: How the process ends if it can never listen on the configured address.
    func startAdmin() -> End? {
        guard let settings = plan.configuration.admin else { return nil }
        do throws(EventLoopError) {
            let server = try AdminServer(
                loop: loop, listen: settings.listen, token: settings.token?.reveal(), pages: self)
            adminServer = server
            log.notice("the admin server listens", metadata: ["address": "\(server.endpoint)"])
            return nil
        } catch {
            let isTaken = error.code.rawValue == "EADDRINUSE"
            guard isTaken || error.isTransient else {
                log.critical("admin.listen: \(error)")
                return .failed(.configuration)
            }
            let advice =
                isTaken
                ? "give each process of a host its own address (admin.listen), or none (admin: null)"
                : "raise the process's limit of open files (LimitNOFILE, ulimit -n) or give it more memory"
            log.error("admin.listen: \(error): there is no admin server; \(advice), and start it again")
            return nil
        }
    }

    private func processSnapshot(at now: Moment) -> ProcessSnapshot {
        ProcessSnapshot(
            workers: workers.watch.seen(at: now.instant),
            needsEveryApp: plan.configuration.admin?.readyWhen == .all,
            credentials: zip(plan.configuration.apps, plan.apps).map { app, planned in
                let issued = plan.tokens.source(for: app.credential)?.issuedAt
                return ProcessSnapshot.Credential(
                    AppName(app.topic, app.environment), expiresIn: planned.certificate?.secondsLeft(at: now.wall),
                    tokenAge: issued.map { .milliseconds(now.wall.milliseconds - $0.milliseconds) })
            },
            reloadFailure: file.failure ?? file.password?.problem,
            passwordExpiresIn: file.password?.secondsLeft(at: now.wall), spans: traces?.counts ?? SpanCounts(),
            process: processMeter.read(), at: now)
    }
}

extension Application: AdminPages {
    package var pages: [AdminPage] {
        [
            AdminPage("/", isPublic: true), AdminPage("/livez", isPublic: true),
            AdminPage("/runbook", isPublic: true), AdminPage("/readyz"), AdminPage("/metrics"), AdminPage("/state"),
        ]
    }

    package func respond(_ request: AdminRequest, at now: Moment) -> AdminResponse? {
        let path = request.page.path.description
        if path == "/" { return DashboardPage.document }
        if path == "/runbook" { return DashboardPage.runbook }
        if path == "/livez" { return livez(at: now) }
        guard request.isRepeated else {
            workers.ask(workers.watch.want(at: now.instant))
            return nil
        }
        let processSnapshot = processSnapshot(at: now)
        switch path {
        case "/metrics":
            return AdminResponse(contentType: PrometheusText.contentType, body: MetricsPage.render(processSnapshot))
        case "/state": return AdminResponse(contentType: "application/json", body: StatePage.render(processSnapshot))
        default:
            let health = Health(processSnapshot)
            return AdminResponse(
                status: health.isReady ? 200 : 503, contentType: "application/json", body: health.json)
        }
    }

    /// It does not ask the workers: the watch has already detected a stuck one.
    private func livez(at now: Moment) -> AdminResponse {
        let stuck = workers.watch.seen(at: now.instant).enumerated().filter { !$0.element.isAlive }.map(\.offset)
        guard stuck.isEmpty else {
            return .text(503, "worker \(stuck.map(String.init).joined(separator: ", ")) does not answer")
        }
        return .text(200, "ok")
    }
}
