import AMQP
import ArgumentParser
import Configuration
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
        let settings = try configuration.load()
        let plan = TopologyPlan(settings)
        guard !definitions else {
            let virtualHost = settings.broker.addresses[0].virtualHost
            return printLine(json: TopologyReport.definitions(plan, virtualHost: virtualHost))
        }
        let run = try apply ? declare(plan, settings) : nil
        let report = TopologyReport(plan: plan, answers: run?.answers)
        if json { printLine(json: report.json) } else { printLine(lines: report.lines) }
        if let failure = run?.failure { try quit(failure, Status.unavailable) }
        if report.isRefused { throw Status.refused }
    }

    private func declare(_ plan: TopologyPlan, _ settings: Configuration) throws -> TopologyRun {
        let runner = try LoopRunner()
        let connect = runner.connections(
            "harebell topology", settings.broker, connectTimeout: BrokerProgress.attempt)
        let run = TopologyRun(plan, control: try connect(.control), at: runner.now)
        try runner.run(run, showing: ProgressBar(isWanted: false))
        return run
    }
}
