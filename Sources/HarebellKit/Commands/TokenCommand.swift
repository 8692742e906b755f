import APNs
import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime
import System
import TLS

struct TokenCommand: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints a fresh provider token.",
        discussion: """
            For trying out a request by hand: curl --http2 -H "authorization: bearer $(harebell token …)" …

            APNs refuses a key whose tokens are renewed more often than every 20 minutes: do not call this in a loop.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @OptionGroup var app: AppOption

    func run(_ registry: DecoderRegistry) throws {
        let app = try app.choose(from: configuration.load(registry).configuration)
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
