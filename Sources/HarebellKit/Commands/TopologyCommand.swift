import AMQP
import ArgumentParser
import Operations
import Configuration
import Core
import Decoding
import Runtime

struct TopologyCommand: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "topology",
        abstract: "Prints, declares or compares every queue and binding that the configuration needs.",
        discussion: """
            No other command declares these queues. Declaring an existing queue with the same arguments changes \
            nothing. With other arguments the broker refuses and reports the difference, and the queue stays as it is.

            --probe sends a message through a copy of each retry queue and waits until it returns. It does not use the \
            request queues or a worker.

            Exit code 65 if the broker refused a declaration, 69 if the broker is not available, 78 if --compare found \
            something missing or different, or if a message of --probe did not return in time.

            Example: harebell topology --apply
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Declare the topology on the broker.")
    var apply = false

    @Flag(help: "Compare the topology with the broker, without changes.")
    var compare = false

    @Flag(help: "Send a message through a copy of each retry queue.")
    var probe = false

    @Option(help: ArgumentHelp("The longest delay that --probe waits for.", valueName: "seconds"))
    var within = 60

    @Flag(help: "Print RabbitMQ's definitions as JSON, for rabbitmqctl import_definitions or load_definitions.")
    var definitions = false

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func validate() throws {
        guard [apply, compare, probe, definitions].count(where: \.self) <= 1 else {
            throw ValidationError("only one of --apply, --compare, --probe and --definitions")
        }
        guard (1...604_800).contains(within) else { throw ValidationError("--within is 1 to 604800") }
    }

    func run(_ registry: DecoderRegistry) throws {
        let settings = try configuration.load(registry).configuration
        let plan = TopologyPlan(settings)
        guard !probe else { return try probe(plan, settings.broker) }
        guard !definitions else {
            let address = try BrokerAddress(settings.broker.endpoints[0].reveal())
            return printLine(json: TopologyReport.definitions(plan, virtualHost: address.virtualHost))
        }
        guard apply || compare else {
            if json {
                printJSON(plan.steps.map { TopologyReport($0, .planned) })
            } else {
                printLine(lines: TopologyReport.table(plan))
            }
            return
        }
        let reports = try ask(apply ? .apply : .compare, plan, settings.broker)
        if json { printJSON(reports) } else if compare { printLine(TopologyReport.summary(reports)) }
        guard reports.contains(where: \.isWrong) else { return }
        throw apply ? Status.refused : Status.configuration
    }

    private func ask(
        _ purpose: TopologyRun.Purpose, _ plan: TopologyPlan, _ broker: Configuration.Broker
    ) throws -> [TopologyReport] {
        let runner = try LoopRunner()
        let control = try runner.connections("harebell topology", broker)(.control)
        let run = TopologyRun(plan, purpose, control: control, at: runner.now)
        var reports: [TopologyReport] = []
        var failed = false
        try runner.run(run) { _ in
            while let event = run.nextEvent() {
                let report: TopologyReport
                switch event {
                case .done(let step): report = TopologyReport(step, .declared)
                case .refused(let step, let error): report = TopologyReport(step, .refused, detail: error.message)
                case .compared(let step, let finding): report = TopologyReport(step, finding)
                case .failed(let error):
                    failed = true
                    complain(error?.description ?? "the broker does not respond")
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
        printLine(json: [
            ("ok", .boolean(!reports.contains(where: \.isWrong))), ("steps", .array(reports.map(\.json))),
        ])
    }

    // MARK: Probing

    private func probe(_ plan: TopologyPlan, _ broker: Configuration.Broker) throws {
        let runner = try LoopRunner()
        let name = "harebell.probe-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        let run = try RetryProbe(
            plan, within: .seconds(within), name: name, at: runner.now,
            connect: runner.connections("harebell topology", broker))
        let bar = ProgressBar(isWanted: !json)
        var reports: [ProbeReport] = run.left.map { ProbeReport($0, .left) }
        var failed = false
        try runner.run(run, showing: bar) {
            while let event = run.nextEvent() {
                bar.clear()
                if let report = ProbeReport(event) {
                    reports.append(report)
                    if !json { printLine(lines: report.lines) }
                } else if case .failed(let error) = event {
                    failed = true
                    complain(error?.description ?? "the broker does not respond")
                }
            }
        }
        if failed { throw Status.unavailable }
        if json {
            printLine(json: [
                ("ok", .boolean(!reports.contains(where: \.isWrong))), ("levels", .array(reports.map(\.json))),
            ])
        } else {
            for report in reports where report.state == .left { printLine(lines: report.lines) }
        }
        if reports.contains(where: \.isWrong) { throw Status.configuration }
    }
}
