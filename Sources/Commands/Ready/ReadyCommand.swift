import ArgumentParser
import Configuration
import Core
import Decoding
import Glibc
import Monitoring
import System

struct ReadyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Asks a running worker whether it is ready, for health checks.",
        discussion: """
            Prints the response of /readyz at admin.listen of the configuration file; on a terminal, as lines. It \
            reads only the section admin of the file.

            Exit code 69 if the worker is not ready or does not respond within 4 seconds, 78 if admin is null.

            Example: harebell ready --config /etc/harebell/harebell.yaml
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Print JSON on a terminal, too.")
    var json = false

    func run() throws {
        guard let admin = try Configuration.Admin.load(path: try configuration.file()) else {
            try quit("admin is null, so the worker cannot report its health: set admin.listen", Status.configuration)
        }
        let runner = try LoopRunner()
        let check = ReadinessCheck(admin, network: runner.network, at: SystemClock.now().instant)
        try runner.run(check)
        guard let response = check.response else {
            let failure = check.failure ?? "stopped"
            try quit("\(failure); is a worker running with this configuration?", Status.unavailable)
        }
        let body = String(decoding: response.body, as: UTF8.self)
        if !json, isatty(STDOUT_FILENO) == 1 {
            printLine(lines: Self.lines(response))
        } else {
            printLine(lines: body.split(separator: "\n").map(String.init))
        }
        if response.status != 200 { throw Status.unavailable }
    }

    /// Whether the worker is ready, what is missing, and what else has to be mended.
    static func lines(_ response: HTTPRequest.Response) -> [String] {
        let body = try? JSONPart(response.body[...])
        let missing = body?["missing"]?.elements.compactMap(\.text) ?? []
        let problems = body?["problems"]?.elements.compactMap { $0["text"]?.text } ?? []
        return [response.status == 200 ? "ready" : "not ready"]
            + missing.map { "missing  \(String(decoding: $0, as: UTF8.self))" }
            + problems.filter { !missing.contains($0) }.map { "problem  \(String(decoding: $0, as: UTF8.self))" }
    }
}
