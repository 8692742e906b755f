import ArgumentParser
import Configuration
import Core
import Runtime
import System

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the worker.",
        discussion: """
            Prints one line, ready, when every queue is being consumed. On SIGTERM or SIGINT the worker drains: it \
            stops consuming, then finishes, confirms and acknowledges the requests in flight. A second signal stops it \
            at once: no request is lost, but more notifications may be sent twice. SIGHUP reloads the file, its keys \
            and certificates: the worker opens new connections for what changed, then drains the old ones. An invalid \
            file changes nothing.

            Example: harebell run --config /etc/harebell/harebell.yaml
            """)

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        let file = try configuration.file()
        let inspection = ConfigurationInspection(path: file, now: SystemClock.now().wall)
        for problem in inspection.problems { complain(problem.description) }
        guard let settings = inspection.startable else { throw Status.configuration }
        let plan = try AppPlan(settings)
        let threshold = LogThreshold(settings.log.level)
        let application = try Application(
            plan, file: file, log: settings.log.logger("harebell", threshold: threshold),
            threshold: threshold
        ) { printLine("ready") }
        switch try application.run() {
        case .drained: return
        case .failed(.unavailable): throw Status.unavailable
        case .failed(.configuration): throw Status.configuration
        case .failed(.internal), .cutShort: throw Status.internal
        }
    }
}
