import AMQP
import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime

struct TopologyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topology",
        abstract: "Prints or declares every queue and binding that the configuration needs.",
        discussion: """
            No other command declares these queues. Declaring an existing queue with the same arguments changes \
            nothing. With other arguments the broker refuses and reports the difference, and the queue stays as it is.

            harebell check --connect compares the broker's queues with this plan.

            Exit code 65 if the broker refused a declaration, 69 if the broker is not available.

            Example: harebell topology --apply
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Declare the topology on the broker.")
    var apply = false

    @Flag(help: "Print RabbitMQ's definitions as JSON, for rabbitmqctl import_definitions or load_definitions.")
    var definitions = false

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func validate() throws {
        if apply && definitions { throw ValidationError("only one of --apply and --definitions") }
    }

    func run() throws {
        let settings = try configuration.load().configuration
        let plan = TopologyPlan(settings)
        guard !definitions else {
            let address = try BrokerAddress(settings.broker.endpoints[0].reveal())
            return printLine(json: TopologyReport.definitions(plan, virtualHost: address.virtualHost))
        }
        guard apply else {
            if json {
                printJSON(plan.steps.map { TopologyReport($0, .planned) })
            } else {
                printLine(lines: TopologyReport.table(plan))
            }
            return
        }
        let reports = try declare(plan, settings.broker)
        if json { printJSON(reports) }
        if Self.isRefused(reports) { throw Status.refused }
    }

    private func declare(_ plan: TopologyPlan, _ broker: Configuration.Broker) throws -> [TopologyReport] {
        let runner = try LoopRunner()
        let control = try runner.connections("harebell topology", broker)(.control)
        let run = TopologyRun(plan, control: control, at: runner.now)
        var reports: [TopologyReport] = []
        var failed = false
        try runner.run(run) { _ in
            while let event = run.nextEvent() {
                let report: TopologyReport
                switch event {
                case .done(let step): report = TopologyReport(step, .declared)
                case .refused(let step, let error): report = TopologyReport(step, .refused, detail: error.message)
                case .failed(let reason):
                    failed = true
                    complain(reason)
                    continue
                }
                reports.append(report)
                if !json { printLine(lines: report.lines) }
            }
        }
        if failed || reports.count < plan.steps.count { throw Status.unavailable }
        return reports
    }

    private func printJSON(_ reports: [TopologyReport]) {
        printLine(json: [("ok", .boolean(!Self.isRefused(reports))), ("steps", .array(reports.map(\.json)))])
    }

    private static func isRefused(_ reports: [TopologyReport]) -> Bool {
        reports.contains { $0.state == .refused }
    }
}
