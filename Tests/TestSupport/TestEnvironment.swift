import Foundation

/// The setup by `deploy/test` for tests that need more than this process.
///
/// Each value is nil where its environment variable is not set, as under a bare `swift test`.
package enum TestEnvironment {
    /// A running broker that all tests share, as an AMQP URI: use unique names.
    package static let broker = value("HAREBELL_TEST_BROKER")

    /// The version of ``broker`` and of those that ``brokerScript`` starts, such as `4.0.5`.
    package static let brokerVersion = value("HAREBELL_TEST_BROKER_VERSION") ?? "3.10.8"

    /// Whether the broker closes a publishing connection over a well-formed direct reply-to of an unknown node.
    /// RabbitMQ 4.0 drops the message instead.
    package static let closesOverDirectReplies = brokerVersion.hasPrefix("3.")

    /// Whether the broker returns a mandatory publish to a malformed direct reply-to. Others close the connection.
    package static let returnsMalformedReplies = brokerVersion.hasPrefix("4.3")

    /// Whether the broker speaks AMQP 1.0 without a plug-in.
    package static let hasNativeAMQP1 = !brokerVersion.hasPrefix("3.")

    /// Whether a consumer's `x-consumer-timeout` replaces the broker's.
    package static let followsConsumerTimeouts = brokerVersion.hasPrefix("4.3")

    /// The path of `deploy/broker`, for tests that stop or kill a broker: ``PrivateBroker`` calls it.
    package static let brokerScript = value("HAREBELL_BROKER_SCRIPT")

    /// The path of the built `harebell`.
    package static let binary = value("HAREBELL_BINARY")

    /// A Python interpreter with the third-party clients.
    package static let foreignClientsPython = value("HAREBELL_FOREIGN_CLIENTS_PYTHON")

    /// The single seed that the simulation runs, with its whole trace.
    package static let simulationSeed = value("HAREBELL_SIMULATION_SEED").flatMap { UInt64($0) }

    /// The number of fresh seeds that the simulation tries, instead of its fixed ones.
    package static let simulationRuns = value("HAREBELL_SIMULATION_RUNS").flatMap { Int($0) }

    /// How many of its fixed seeds the simulation runs, from the first one on.
    package static let simulationSeeds = value("HAREBELL_SIMULATION_SEEDS").flatMap { Int($0) }

    /// The total number of requests of the fault ledger.
    package static let ledgerRequests = value("HAREBELL_LEDGER_REQUESTS").flatMap { Int($0) }

    /// Restricts the fault ledger to faults whose name contains this.
    package static let ledgerFault = value("HAREBELL_LEDGER_FAULT")

    /// The number of damaged inputs of each fuzzing test.
    package static let fuzzInputs = value("HAREBELL_FUZZ_INPUTS").flatMap { Int($0) }

    /// The repository's root: this file lies three levels below it.
    package static let repository = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    /// The message of a skipped test.
    package static let hint = "deploy/test prepares what this needs"

    private static func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A condition that a test waited for and that did not occur, with the observed state.
package struct TestSupportError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Polls until the result is not nil.
///
/// - Throws: ``TestSupportError`` with `what` after `limit`.
@discardableResult
package func eventually<Answer>(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(10), _ ask: () throws -> Answer?
) throws -> Answer {
    let deadline = ContinuousClock.now + limit
    while true {
        if let response = try ask() { return response }
        guard ContinuousClock.now < deadline else { throw TestSupportError("not within \(limit): \(what())") }
        Thread.sleep(forTimeInterval: 0.01)
    }
}
