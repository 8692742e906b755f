import AMQP
import Configuration
import Core

/// Explains what a broker's responses mean for a worker.
///
/// Sources: rabbitmq.com/docs/quorum-queues (delivery limits, at-least-once dead lettering), the release notes of 4.0
/// (the default delivery limit), rabbitmq.com/docs/consumers (the consumer timeout), rabbitmq.com/docs/access-control.
struct BrokerDiagnosis {
    private static let declares = "harebell topology --config FILE --apply declares it"
    private static let noStream =
        "a worker does not consume a stream, which neither redelivers nor removes requests: delete it, or name "
        + "another queue"

    private let requestQueues: Set<String>

    init(_ configuration: Configuration) {
        requestQueues = Set(configuration.queues.map(\.name))
    }

    // MARK: The broker

    func version(_ server: ServerProperties) -> ConnectionFinding {
        let name = "\(server.product) \(server.version)"
        let version = server.version.split(separator: ".").prefix(2).compactMap { Int($0) }
        guard server.product == "RabbitMQ", version.count == 2 else {
            return ConnectionFinding(.note, "version", "\(name): Harebell is tested with RabbitMQ")
        }
        guard (version[0], version[1]) >= (3, 10) else {
            return ConnectionFinding(
                .warning, "version",
                "\(name) has no at-least-once dead lettering: what waits in a retry queue can be lost",
                hint: "RabbitMQ 3.10 or newer")
        }
        return ConnectionFinding(.ok, "version", name)
    }

    // MARK: Queues and exchanges

    /// - Parameter error: the response to the passive declaration.
    func absence(of step: TopologyPlan.Step, _ error: AMQPError) -> ConnectionFinding {
        guard error.code == .notFound else { return .failure(step.subject, error) }
        return ConnectionFinding(.wrong, step.subject, "missing", hint: Self.declares)
    }

    /// - Parameter response: the response to the declaration of what exists.
    func comparison(of step: TopologyPlan.Step, _ response: ControlResponse) -> ConnectionFinding {
        switch response {
        case .refused(let error) where error.code == .accessRefused:
            return ConnectionFinding(
                .note, step.subject, "it exists; its arguments can be compared only with the configure permission")
        case .refused(let error) where error.code == .preconditionFailed:
            let (severity, advice) = advice(about: step, Difference(error))
            return ConnectionFinding(severity, step.subject, error.message, hint: advice)
        case .refused(let error): return .failure(step.subject, error)
        case .declared(_, let messages, let consumers):
            let counts =
                "\(messages) message\(messages == 1 ? "" : "s"), \(consumers) consumer\(consumers == 1 ? "" : "s")"
            return ConnectionFinding(.ok, step.subject, "as planned; \(counts)\(Self.deliveryLimit(of: step))")
        default: return ConnectionFinding(.ok, step.subject, "as planned")
        }
    }

    private static func deliveryLimit(of step: TopologyPlan.Step) -> String {
        guard case .declareQueue(let queue) = step.declaration,
            case .int32(let limit)? = queue.arguments["x-delivery-limit"]
        else { return "" }
        return "; delivery limit \(limit)"
    }

    /// The first difference between a queue and its declaration: `… inequivalent arg 'x-overflow' for queue 'q' in
    /// vhost '/': received 'reject-publish' but current is none`. Source: rabbit_misc.erl, `assert_args_equivalence`.
    private struct Difference {
        let argument: Substring
        /// `none`, `'20'` or `the value '20' of type 'signedint'`; empty if the text is cut off, AMQP allows 255 bytes.
        let current: Substring

        init?(_ error: AMQPError) {
            let parts = error.message.split(separator: "'", maxSplits: 2)
            guard parts.count == 3, parts[0].hasSuffix("inequivalent arg ") else { return nil }
            argument = parts[1]
            current = parts[2].firstRange(of: " but current is ").map { parts[2][$0.upperBound...] } ?? ""
        }
    }

    /// One line about a declaration that the broker refuses. It is wrong if requests cannot be consumed or do not
    /// return as planned; all else works, perhaps less safely.
    private func advice(
        about step: TopologyPlan.Step, _ difference: Difference?
    ) -> (ConnectionFinding.Severity, String) {
        let change = "RabbitMQ does not change what exists: empty and delete it, then \(Self.declares)"
        guard case .declareQueue(let queue) = step.declaration, let difference else { return (.warning, change) }
        switch (difference.argument, requestQueues.contains(queue.name)) {
        case ("x-queue-type", true) where difference.current.contains("'stream'"):
            return (.wrong, Self.noStream)
        case ("x-message-ttl", false), ("x-dead-letter-exchange", false), ("x-dead-letter-routing-key", false):
            return (queue.arguments["x-message-ttl"] == nil ? .warning : .wrong, change)
        case ("x-dead-letter-exchange", true) where difference.current == "none":
            return (.warning, "unless a policy names a dead-letter exchange, a request that the broker drops is lost")
        case ("x-delivery-limit", true):
            return (
                .warning,
                "unless a policy sets a limit, RabbitMQ 4 drops a request after 20 returns, which restarts can use up; "
                    + "before RabbitMQ 4, a negative limit drops it after its first failed delivery"
            )
        default: return (.warning, change)
        }
    }

    // MARK: Permissions

    /// - Parameter error: the response to a consume request that cannot be granted.
    /// - Returns: `nil` for a missing queue, which another finding reports.
    func reading(_ queue: String, _ error: AMQPError) -> ConnectionFinding? {
        let subject = "consuming \(queue)"
        return switch error.code {
        // The first difference of a stream may be another argument than its type, but a stream knows no priorities.
        // Source: rabbit_amqqueue.erl, `check_arguments_key`.
        case .preconditionFailed where error.message.contains(" of queue type rabbit_stream_queue"):
            ConnectionFinding(.wrong, subject, "the queue is a stream", hint: Self.noStream)
        case .preconditionFailed: ConnectionFinding(.ok, subject, "permitted")
        case .notFound: nil
        default: .failure(subject, error, hint: "the user needs the read permission")
        }
    }

    /// - Parameter error: why the publishing connection ended; `nil` if the broker returned the message as unroutable.
    func writing(_ error: AMQPError?) -> ConnectionFinding {
        let subject = "publishing"
        guard let error else { return ConnectionFinding(.ok, subject, "permitted, through the default exchange") }
        return .failure(
            subject, error,
            hint: error.code == .accessRefused ? "the user needs the write permission for amq.default" : nil)
    }

    func blocked(_ reason: String) -> ConnectionFinding {
        ConnectionFinding(
            .warning, "publishing", "the broker accepts no messages now: \(reason)",
            hint: "it is low on memory or disk: see rabbitmq-diagnostics alarms")
    }
}
