import ArgumentParser
import Bridge
import Core
import EventLoop
import Logging

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the worker.",
        discussion: """
            Prints one line, ready, when every queue is being consumed. SIGTERM and SIGINT drain: consuming stops, what \
            is in flight is finished, confirmed and acknowledged. A second signal stops at once; nothing is lost by that \
            either, but more may be sent twice.
            """)

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        let (document, inspection) = try configuration.loadWithCredentials()
        let settings = document.configuration
        let tokens: ProviderTokens
        do {
            tokens = try ProviderTokens(settings.apps)
        } catch {
            complain(error.description)
            throw Status.configuration
        }
        let application = try Application(
            settings, certificates: inspection.certificates, log: settings.log.logger("harebell")
        ) { say("ready") }
        switch try application.run(tokens: tokens) {
        case .drained: return
        case .unavailable: throw Status.unavailable
        case .badConfiguration: throw Status.configuration
        case .cutShort: throw Status.internal
        }
    }
}
