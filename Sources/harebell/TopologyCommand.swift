import AMQP
import ArgumentParser
import Bridge
import Core

struct TopologyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topology",
        abstract: "Prints, declares or compares every queue and binding that the configuration needs.",
        discussion: """
            Nothing else in Harebell declares a queue. Declaring what exists already with the same arguments changes \
            nothing; with other arguments the broker refuses, says the difference, and the queue stays as it is.

            Exit code 65 if the broker refused a declaration, 69 if it cannot be used, and 78 if --compare found something \
            missing or different.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Declare it on the broker.")
    var apply = false

    @Flag(help: "Compare it with what the broker has, and change nothing.")
    var compare = false

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func validate() throws {
        guard !(apply && compare) else { throw ValidationError("--apply and --compare exclude each other") }
    }

    func run() throws {
        let settings = try configuration.load().configuration
        let plan = TopologyPlan(settings)
        guard apply || compare else {
            if json {
                sayJSON(plan.steps.map { TopologyReport($0, .planned) })
            } else {
                say(plan.text)
            }
            return
        }
        let reports = try ask(apply ? .apply : .compare, plan, settings.broker)
        if json { sayJSON(reports) } else if compare { say(TopologyReport.summary(reports)) }
        guard reports.contains(where: \.isWrong) else { return }
        throw apply ? Status.refused : Status.configuration
    }

    private func ask(
        _ purpose: TopologyRun.Purpose, _ plan: TopologyPlan, _ broker: Configuration.Broker
    ) throws -> [TopologyReport] {
        let runner = try LoopRunner()
        let control = try BrokerConnections.connection(
            .control, name: "harebell topology", broker, network: runner.network,
            seed: UInt64.random(in: 0 ... .max))
        let run = TopologyRun(plan, purpose, control: control, at: runner.now)
        var reports: [TopologyReport] = []
        var failed = false
        try runner.run(
            nextDeadline: { run.nextDeadline }, expire: run.expire(at:), interrupted: { run.stop(at: runner.now) }
        ) { now in
            run.step(at: now.instant)
            while let event = run.nextEvent() {
                let report: TopologyReport
                switch event {
                case .done(let step): report = TopologyReport(step, .declared)
                case .refused(let step, let error): report = TopologyReport(step, .refused, detail: error.message)
                case .compared(let step, let finding): report = TopologyReport(step, finding)
                case .failed(let error):
                    failed = true
                    complain(error?.description ?? "the broker does not answer")
                    continue
                }
                reports.append(report)
                if !json { say(report.text) }
            }
            return run.isClosed
        }
        if failed || reports.count < plan.steps.count { throw Status.unavailable }
        return reports
    }

    private func sayJSON(_ reports: [TopologyReport]) {
        say(
            JSONAnswer.text(of: [
                ("ok", .boolean(!reports.contains(where: \.isWrong))), ("steps", .array(reports.map(\.json))),
            ]))
    }
}
