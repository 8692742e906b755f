import APNs
import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime
import System

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints a fresh provider token.",
        discussion: """
            Put it into the header "authorization: bearer TOKEN" of a request by hand. APNs refuses a key whose \
            tokens are renewed more often than every 20 minutes: do not call this in a loop.

            Example: harebell token --topic com.example.app
            """)

    @OptionGroup var configuration: ConfigurationOption

    @OptionGroup var app: AppOption

    @Flag(help: "One JSON object that also says when the token expires.")
    var json = false

    func run() throws {
        let app = try app.choose(from: configuration.load())
        guard let source = try ProviderTokens([app]).source(for: app.credential) else {
            throw ValidationError("\(app.topic) uses a certificate, which needs no provider token")
        }
        let token = source.token(at: SystemClock.now())
        let text = String(decoding: token.headerValue.dropFirst("bearer ".utf8.count), as: UTF8.self)
        guard json else { return printLine(text) }
        let end = WallTime(milliseconds: token.issuedAt.milliseconds + TokenRenewal.lifetime.components.seconds * 1000)
        printLine(json: [
            ("token", .text(text)), ("topic", .text(app.topic)), ("environment", .text(app.environment.rawValue)),
            ("key_id", .text(source.keyID)), ("team_id", .text(source.teamID)),
            ("issued_at", .text(token.issuedAt.inUTC)), ("expires_at", .text(end.inUTC)),
        ])
    }
}
