import ArgumentParser
import Bridge
import Core
import EventLoop

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validates the configuration file, its keys and its certificates.",
        discussion: """
            Every problem is told with file:line:column, all of them in one run; then what each app's key or certificate \
            is good for.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func run() throws {
        var problems: [ConfigurationProblem] = []
        var apps: [CredentialInspection.App] = []
        let now = SystemClock.now().wall
        do throws(ConfigurationError) {
            let inspection = try ConfigurationDocument.load(path: configuration.file).inspect(now: now)
            problems = inspection.problems
            apps = inspection.apps
        } catch {
            problems = error.problems
        }
        problems.sort { $0.location < $1.location }
        let errors = problems.count { $0.severity == .error }
        if json {
            say(
                JSONAnswer.text(of: [
                    ("ok", .boolean(errors == 0)), ("problems", .array(problems.map(Self.object))),
                    ("apps", .array(apps.map { CredentialReport($0, at: now).json })),
                ]))
        } else {
            for problem in problems { say(problem.description) }
            for app in apps { say(CredentialReport(app, at: now).text) }
            let warnings = problems.count - errors
            say(
                errors == 0
                    ? "ok\(warnings == 0 ? "" : ", \(warnings) warnings")" : "\(errors) errors, \(warnings) warnings")
        }
        if errors > 0 { throw Status.configuration }
    }

    private static func object(_ problem: ConfigurationProblem) -> JSONAnswer {
        .object([
            ("severity", .text(problem.severity == .error ? "error" : "warning")), ("file", .text(problem.file)),
            ("line", .integer(problem.location.line)), ("column", .integer(problem.location.column)),
            ("message", .text(problem.message)),
        ])
    }
}
