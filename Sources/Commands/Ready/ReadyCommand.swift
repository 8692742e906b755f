import ArgumentParser
import Configuration
import Core
import Decoding
import System

struct ReadyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Asks a running worker whether it is ready, for health checks.",
        discussion: """
            Prints the response of /readyz at admin.listen of the configuration file.

            Exit code 69 if the worker is not ready or does not respond within 4 seconds, 78 if admin is null.

            Example: harebell ready --config /etc/harebell/harebell.yaml
            """)

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        guard let admin = try configuration.read().configuration.admin else {
            complain("admin is null, so the worker cannot report its health: set admin.listen")
            throw Status.configuration
        }
        let runner = try LoopRunner()
        let check = ReadinessCheck(admin, network: runner.network, at: SystemClock.now().instant)
        try runner.run(check)
        switch check.result {
        case .success(let response):
            printLine(lines: response.body.split(separator: "\n").map(String.init))
            if response.status != 200 { throw Status.unavailable }
        case .failure(let failure):
            complain("\(failure.message); is a worker running with this configuration?")
            throw Status.unavailable
        case nil: preconditionFailure("a finished check has its result")
        }
    }
}
