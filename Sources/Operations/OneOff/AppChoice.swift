package import Configuration
package import Core

/// Why an operator's words name no app, or more than one.
package struct AppChoiceFailure: Error, Equatable, CustomStringConvertible {
    /// What to say instead.
    package let description: String
}

extension Configuration {
    /// The one app that an operator means.
    ///
    /// - Parameters:
    ///   - topic: as it is configured, or with a push type's suffix behind it; `nil` where there is only one app.
    ///   - environment: `nil` where the topic has only one.
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
    /// Whether a topic is the app's, with a push type's suffix or without.
    func isMeant(by name: String) -> Bool {
        name == topic || PushType.allCases.contains { name == topic + $0.topicSuffix.description }
    }
}
