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
        let apps = configuration.apps.filter { environment == nil || $0.environment == environment }
        let found = topic.map { apps.meant(by: $0) } ?? apps
        guard let app = found.first else {
            let place = environment.map { " for \($0.rawValue)" } ?? ""
            let name = topic.map { " \"\($0)\"" } ?? ""
            throw ValidationError("no app\(name) is configured\(place)")
        }
        guard found.count == 1 else {
            let names = found.map { "\($0.topic) (\($0.environment.rawValue))" }.joined(separator: ", ")
            throw ValidationError("which app? Name one with --topic and --environment: \(names)")
        }
        return app
    }
}

extension Environment: ExpressibleByArgument {}

extension [Configuration.App] {
    /// The apps with this topic, else those to whose topic it adds the suffix of a push type: a bundle ID may end like
    /// a suffix.
    func meant(by name: String) -> [Configuration.App] {
        let exact = filter { $0.topic == name }
        guard exact.isEmpty else { return exact }
        return filter { app in PushType.allCases.contains { name == app.topic + $0.rules.topicSuffix.description } }
    }
}
