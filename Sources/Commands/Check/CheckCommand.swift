import AMQP
import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime
import System

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validates the configuration file, keys and certificates, and the connections to broker and APNs.",
        discussion: """
            Reports every problem with file:line:column in one run, and what each app's key or certificate permits. \
            With --connect it also connects to every broker and every APNs service in the file, as a worker does. It \
            changes nothing, consumes no message and notifies no device.

            Exit code 78 if something has to be changed, 69 if every problem may be temporary: a peer that is down or \
            cannot be reached.

            Example: harebell check --connect
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Check the brokers and APNs, too.")
    var connect = false

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func run() throws {
        let now = SystemClock.now().wall
        let inspection = ConfigurationInspection(path: try configuration.file(), now: now)
        let (document, problems, apps) = (inspection.document, inspection.problems, inspection.apps)
        // A file that cannot be read completely contains no addresses to connect to.
        let connections =
            try connect ? document.map { try check($0.configuration) } : nil
        let mistakes = problems.count { $0.severity == .error } + (connections?.count(.wrong) ?? 0)
        let failures = connections?.count(.unreachable) ?? 0
        if json {
            var members: [(String, JSONOutput)] = [
                ("ok", .boolean(mistakes == 0 && failures == 0)), ("problems", .array(problems.map(Self.object))),
                ("brokers", .array(document.map(Self.brokers)?.map { .text($0) } ?? [])),
                ("queues", .array(document?.configuration.queues.map(Self.object) ?? [])),
                ("apps", .array(apps.map { $0.json(at: now) })),
            ]
            if let connections { members.append(("connections", connections.json)) }
            printLine(json: members)
        } else {
            for problem in problems { printLine(problem.description) }
            if let document { printLine(lines: Self.lines(document)) }
            for app in apps { printLine(lines: app.lines(at: now)) }
            printLine(lines: connections?.lines ?? [])
            let warnings = problems.count { $0.severity == .warning } + (connections?.count(.warning) ?? 0)
            printLine(Self.summary(errors: mistakes + failures, warnings: warnings))
        }
        if mistakes > 0 { throw Status.configuration }
        if failures > 0 { throw Status.unavailable }
    }

    private func check(_ configuration: Configuration) throws -> ConnectionCheck {
        let runner = try LoopRunner()
        let check = ConnectionCheck(
            configuration, network: runner.network, seed: UInt64.random(in: 0 ... .max), at: SystemClock.now())
        try runner.run(check, showing: ProgressBar(isWanted: !json))
        return check
    }

    private static func brokers(_ document: ConfigurationDocument) -> [String] {
        // Without user and password.
        document.configuration.broker.addresses.map { "\($0.endpoint), virtual host \"\($0.virtualHost)\"" }
    }

    private static func lines(_ document: ConfigurationDocument) -> [String] {
        let origin = document.values.isGiven("queues") ? "" : ", by default, because the file has no queues"
        return brokers(document).map { "broker \($0)" }
            + document.configuration.queues.map {
                "queue \($0.name): decoder \($0.decoder), prefetch \($0.prefetch)\(origin)"
            }
    }

    private static func object(_ queue: Configuration.Queue) -> JSONOutput {
        .object([
            ("name", .text(queue.name)), ("decoder", .text(queue.decoder)), ("prefetch", .integer(Int(queue.prefetch))),
        ])
    }

    private static func summary(errors: Int, warnings: Int) -> String {
        func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
        if errors == 0 { return "ok" + (warnings == 0 ? "" : ", \(counted(warnings, "warning"))") }
        return "\(counted(errors, "error")), \(counted(warnings, "warning"))"
    }

    private static func object(_ problem: ConfigurationProblem) -> JSONOutput {
        .object([
            ("severity", .text(problem.severity == .error ? "error" : "warning")), ("file", .text(problem.file)),
            ("line", .integer(problem.location.line)), ("column", .integer(problem.location.column)),
            ("message", .text(problem.message)), ("hint", .optional(problem.hint)),
        ])
    }
}
