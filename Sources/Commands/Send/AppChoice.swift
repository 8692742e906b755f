package import Configuration
package import Core

/// Why an operator's input matches no app, or more than one.
package struct AppChoiceFailure: Error, Equatable, CustomStringConvertible {
    /// The problem and the remedy.
    package let description: String
}

extension Configuration {
    /// The only app that matches an operator's input.
    ///
    /// - Parameters:
    ///   - topic: the configured topic, optionally with the suffix of a push type; `nil` if there is only one app.
    ///   - environment: `nil` if the topic has only one.
    package func app(topic: String?, environment: Environment?) throws(AppChoiceFailure) -> App {
        let found = apps.filter { app in
            (topic.map { app.isMeant(by: $0) } ?? true) && (environment.map { $0 == app.environment } ?? true)
        }
        guard let app = found.first else {
            let place = environment.map { " for \($0.rawValue)" } ?? ""
            throw AppChoiceFailure(description: "no app \"\(topic ?? "")\" is configured\(place)")
        }
        guard found.count == 1 else {
            let names = found.map { "\($0.topic) (\($0.environment.rawValue))" }.joined(separator: ", ")
            throw AppChoiceFailure(description: "which app? Name one with --topic and --environment: \(names)")
        }
        return app
    }
}

extension Configuration.App {
    /// Whether a topic belongs to the app, with or without the suffix of a push type.
    func isMeant(by name: String) -> Bool {
        name == topic || PushType.allCases.contains { name == topic + $0.topicSuffix.description }
    }
}
