import ArgumentParser
import Configuration
import Core
import FoundationEssentials
import Glibc
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
        guard let admin = try admin() else {
            complain("admin is null, so the worker cannot report its health: set admin.listen")
            throw Status.configuration
        }
        let runner = try LoopRunner()
        let check = ReadinessCheck(admin, network: runner.network, at: SystemClock.now().instant)
        try runner.run(check)
        switch check.result {
        case .success(let response):
            let isReadable = !json && isatty(STDOUT_FILENO) == 1
            let readiness = isReadable ? Readiness(response.body) : nil
            printLine(lines: readiness?.lines ?? response.body.split(separator: "\n").map(String.init))
            if response.status != 200 { throw Status.unavailable }
        case .failure(let failure):
            complain("\(failure.message); is a worker running with this configuration?")
            throw Status.unavailable
        case nil: preconditionFailure("a finished check has its result")
        }
    }

    private func admin() throws -> Configuration.Admin? {
        let file = try configuration.file()
        do throws(ConfigurationError) {
            return try Configuration.Admin.load(path: file)
        } catch {
            for problem in error.problems { complain(problem.description) }
            throw Status.configuration
        }
    }
}

/// The response of `/readyz` for a reader.
struct Readiness: Decodable {
    struct Queue: Decodable {
        let name: String
        let consumers: Int
    }

    struct App: Decodable {
        let topic: String
        let environment: String
        let connections: Int
        let problem: String?
    }

    let ready: Bool
    let missing: [String]
    let queues: [Queue]
    let apps: [App]

    /// - Returns: `nil` if it is not of this release.
    init?(_ body: String) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(body.utf8))
        } catch {
            return nil
        }
    }

    var lines: [String] {
        func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
        return [ready ? "ready" : "not ready"] + missing.map { "missing  \($0)" }
            + queues.map { "queue    \($0.name): \(counted($0.consumers, "consumer"))" }
            + apps.map {
                let state = $0.problem ?? "\($0.topic) (\($0.environment)): \(counted($0.connections, "connection"))"
                return "app      \(state)"
            }
    }
}
