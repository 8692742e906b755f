import APNs
import ArgumentParser
import Bridge
import Core
import EventLoop
import TLS

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints a fresh provider token.",
        discussion: """
            For trying out a request by hand: curl --http2 -H "authorization: bearer $(harebell token …)" …

            APNs refuses a key whose tokens are renewed more often than every 20 minutes: do not call this in a loop.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The topic of the app whose key signs; needed where several apps are configured.")
    var topic: String?

    @Option(help: "production or development; needed where a topic has both.")
    var environment: String?

    func run() throws {
        let apps = try configuration.load().configuration.apps.filter { app in
            (topic.map { $0 == app.topic } ?? true) && (environment.map { $0 == app.environment.rawValue } ?? true)
        }
        guard let app = apps.first else {
            throw ValidationError("no app \"\(topic ?? "")\" is configured\(environment.map { " for \($0)" } ?? "")")
        }
        guard apps.count == 1 else {
            let names = apps.map { "\($0.topic) (\($0.environment.rawValue))" }.joined(separator: ", ")
            throw ValidationError("which app? Name one with --topic and --environment: \(names)")
        }
        let tokens: ProviderTokens
        do {
            tokens = try ProviderTokens([app])
        } catch {
            complain(error.description)
            throw Status.configuration
        }
        guard let source = tokens.source(for: app.credential) else {
            throw ValidationError("\(app.topic) uses a certificate, which needs no provider token")
        }
        let header = source.token(at: SystemClock.now()).headerValue
        say(String(decoding: header.dropFirst("bearer ".utf8.count), as: UTF8.self))
    }
}
