import ArgumentParser
import Bridge
import Core
import EventLoop

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validates the configuration file, its keys and its certificates.",
        discussion: "Every problem is told with file:line:column, all of them in one run.")

    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func run() throws {
        var problems: [ConfigurationProblem] = []
        do throws(ConfigurationError) {
            let document = try ConfigurationDocument.load(path: configuration.file)
            problems = document.check(now: SystemClock.now().wall)
        } catch {
            problems = error.problems
        }
        problems.sort { $0.location < $1.location }
        let errors = problems.count { $0.severity == .error }
        if json {
            say(JSONAnswer.text(of: [("ok", .boolean(errors == 0)), ("problems", .array(problems.map(Self.object)))]))
        } else {
            for problem in problems { say(problem.description) }
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
