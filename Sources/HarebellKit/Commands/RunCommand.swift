import ArgumentParser
import Operations
import Configuration
import Core
import Decoding
import Logging
import Runtime

struct RunCommand: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the worker.",
        discussion: """
            Prints one line, ready, when every queue is being consumed. SIGTERM and SIGINT drain: consuming stops, \
            what is in flight is finished, confirmed and acknowledged. A second signal stops at once; nothing is lost \
            by that either, but more may be sent twice. SIGHUP reads the file again, with its keys and certificates: \
            what changed gets new connections first, then the old ones drain; a file that is wrong changes nothing.
            """)

    @OptionGroup var configuration: ConfigurationOption

    func run(_ registry: DecoderRegistry) throws {
        let settings = try configuration.loadWithCredentials(registry).0.configuration
        let plan: AppPlan
        do {
            plan = try AppPlan(settings)
        } catch {
            complain(error.description)
            throw Status.configuration
        }
        let threshold = LogThreshold(settings.log.level)
        let application = try Application(
            plan, file: try configuration.file(), log: settings.log.logger("harebell", threshold: threshold),
            threshold: threshold
        ) { say("ready") }
        switch try application.run() {
        case .drained: return
        case .failed(.unavailable): throw Status.unavailable
        case .failed(.configuration): throw Status.configuration
        case .failed(.internal), .cutShort: throw Status.internal
        }
    }
}
