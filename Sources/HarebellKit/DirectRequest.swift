import APNs
import ArgumentParser
import Operations
import Configuration
import Core
import Runtime
import System
import TLS

/// One request straight to APNs, with sockets.
enum DirectRequest {
    /// Sends it for one app of a configuration, and waits for what becomes of it.
    static func run(
        _ request: APNsRequest, for app: Configuration.App, _ limits: Configuration.APNs
    ) throws -> DirectExchange.End {
        let runner = try LoopRunner(limits.socketOptions)
        let exchange: DirectExchange
        do throws(TLSError) {
            exchange = try DirectExchange(
                request, for: app, limits, tokens: ProviderTokens([app]), network: runner.network,
                seed: UInt64.random(in: 0 ... .max), at: SystemClock.now())
        } catch {
            complain(error.description)
            throw Status.configuration
        }
        try runner.run(exchange)
        for alarm in exchange.alarms { complain("\(alarm)") }
        guard let end = exchange.end else { preconditionFailure("what is over has an end") }
        return end
    }
}

extension Outcome {
    /// How a command ends whose request ended so; `nil` for done.
    var status: ExitCode? {
        switch self {
        case .accepted: nil
        case .unregistered, .rejected, .invalid, .expired: Status.refused
        case .undelivered: Status.unavailable
        }
    }
}
