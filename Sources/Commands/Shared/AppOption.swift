import ArgumentParser
import Configuration
import Core

/// `--topic T` and `--environment E`, for every command about one app.
struct AppOption: ParsableArguments {
    @Option(help: "The app's topic; required if several apps are configured.")
    var topic: String?

    @Option(help: "production or development; required if a topic has both.")
    var environment: Environment?

    func choose(from configuration: Configuration) throws -> Configuration.App {
        let found = configuration.apps.filter { app in
            (topic.map { app.isMeant(by: $0) } ?? true) && (environment.map { $0 == app.environment } ?? true)
        }
        guard let app = found.first else {
            let place = environment.map { " for \($0.rawValue)" } ?? ""
            throw ValidationError("no app \"\(topic ?? "")\" is configured\(place)")
        }
        guard found.count == 1 else {
            let names = found.map { "\($0.topic) (\($0.environment.rawValue))" }.joined(separator: ", ")
            throw ValidationError("which app? Name one with --topic and --environment: \(names)")
        }
        return app
    }
}

extension Environment: ExpressibleByArgument {}

extension Configuration.App {
    /// Whether a topic belongs to the app, with or without the suffix of a push type.
    func isMeant(by name: String) -> Bool {
        name == topic || PushType.allCases.contains { name == topic + $0.rules.topicSuffix.description }
    }
}
