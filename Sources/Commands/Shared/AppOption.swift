import ArgumentParser
import Configuration
import Core

/// `--topic T` and `--environment E`, for every command about one app.
struct AppOption: ParsableArguments {
    @Option(help: "The app's topic; required if several apps are configured.")
    var topic: String?

    @Option(help: "production or development; required if a topic has both.")
    var environment: String?

    func validate() throws {
        guard environment.map({ Environment(rawValue: $0) != nil }) ?? true else {
            throw ValidationError("--environment is production or development")
        }
    }

    /// The selected app of the configuration.
    func choose(from configuration: Configuration) throws -> Configuration.App {
        do throws(AppChoiceFailure) {
            return try configuration.app(topic: topic, environment: environment.flatMap(Environment.init))
        } catch {
            throw ValidationError(error.description)
        }
    }
}

extension Configuration {
    /// The selected queue: the given one, else the only configured one.
    func queue(named given: String?) throws -> String {
        if let given { return given }
        guard queues.count == 1 else {
            throw ValidationError("which queue? Name one with --queue: \(queues.map(\.name).joined(separator: ", "))")
        }
        return queues[0].name
    }
}
