import AMQP
import ArgumentParser
import Bridge
import Core

struct TopologyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topology",
        abstract: "Prints, or declares, every queue and binding that the configuration needs.",
        discussion: """
            Nothing else in Harebell declares a queue. Declaring what exists already with the same arguments changes \
            nothing; with other arguments the broker refuses, says the difference, and the queue stays as it is.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Declare it on the broker.")
    var apply = false

    func run() throws {
        let settings = try configuration.load().configuration
        let plan = TopologyPlan(settings)
        guard apply else {
            say(plan.text)
            return
        }
        let runner = try LoopRunner()
        let control = try BrokerConnections.connection(
            .control, name: "harebell topology", settings.broker, network: runner.network,
            seed: UInt64.random(in: 0 ... .max))
        let run = TopologyRun(plan, control: control, at: runner.now)
        var refused = 0
        var failed = false
        try runner.run(
            nextDeadline: { run.nextDeadline }, expire: run.expire(at:), interrupted: { run.stop(at: runner.now) }
        ) { now in
            run.step(at: now.instant)
            while let event = run.nextEvent() {
                switch event {
                case .done(let step): say("ok       \(TopologyPlan.line(step))")
                case .refused(let step, let error):
                    refused += 1
                    say("refused  \(TopologyPlan.line(step))\n         \(error.message)")
                case .failed(let error):
                    failed = true
                    complain(error?.description ?? "the broker does not answer")
                }
            }
            return run.isClosed
        }
        if failed { throw Status.unavailable }
        if refused > 0 { throw Status.refused }
    }
}
