import AMQP
import Configuration
import Core

/// Explains what a broker's responses mean for a worker.
///
/// Sources: rabbitmq.com/docs/quorum-queues (delivery limits, at-least-once dead lettering), the release notes of 4.0
/// (the default delivery limit), rabbitmq.com/docs/consumers (the consumer timeout), rabbitmq.com/docs/access-control.
struct BrokerDiagnosis {
    private let queues: Set<String>
    private let exchanges: [String]
    private let hold: Duration
    private let apply = "harebell topology --config FILE --apply declares it"

    init(_ configuration: Configuration) {
        queues = Set(configuration.queues.map(\.name))
        hold = configuration.hold
        let routes = [configuration.deadLetter, configuration.results.route, configuration.feedback].compactMap(\.self)
        exchanges = routes.map(\.exchange).filter { !$0.isEmpty }.reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }

    // MARK: The broker

    func version(_ server: ServerProperties) -> ConnectionFinding {
        let name = "\(server.product) \(server.version)"
        guard server.product == "RabbitMQ", let version = Self.number(of: server) else {
            return ConnectionFinding(.note, "version", "\(name): Harebell is tested with RabbitMQ")
        }
        guard version >= (3, 10) else {
            return ConnectionFinding(
                .warning, "version",
                "\(name) has no at-least-once dead lettering: what waits in a retry queue can be lost",
                hint: "RabbitMQ 3.10 or newer")
        }
        let meaning =
            version.major < 4
            ? "quorum queues have no delivery limit unless they are declared with one"
            : "quorum queues have a delivery limit of 20 unless they are declared with another, and classic queues "
                + "are not mirrored"
        return ConnectionFinding(.ok, "version", "\(name): \(meaning)")
    }

    /// The major and minor version.
    private static func number(of server: ServerProperties) -> (major: Int, minor: Int)? {
        let parts = server.version.split(separator: ".").prefix(2).map { Int($0) }
        guard parts.count == 2, let major = parts[0], let minor = parts[1] else { return nil }
        return (major, minor)
    }

    /// Remarks that apply to every broker.
    var remarks: [ConnectionFinding] {
        var remarks = exchanges.map { name in
            ConnectionFinding(
                .note, "publishing to \(name)",
                "not tested, because a message might reach a queue: the user needs the write permission")
        }
        remarks.append(
            ConnectionFinding(
                .note, "consumer timeout",
                """
                AMQP does not report it: it must be longer than a delivery is held (hold_seconds, \
                \(hold.components.seconds) s, and as much again for a last try). RabbitMQ's default is 30 minutes
                """,
                hint: "rabbitmqctl environment shows consumer_timeout"))
        return remarks
    }

    // MARK: Queues

    func findings(
        about step: TopologyPlan.Step, _ finding: DeclarationComparison.Finding, _ server: ServerProperties
    ) -> [ConnectionFinding] {
        let subject = step.subjectText
        switch finding {
        case .asWanted(let messages, let consumers):
            return [ConnectionFinding(.ok, subject, "as wanted\(step.counts(messages, consumers))")]
                + limit(of: step, [], server)
        case .missing:
            return [ConnectionFinding(.wrong, subject, ConnectionFinding.missing, hint: apply)]
        case .different(let differences, let rest, let messages, let consumers):
            return [
                ConnectionFinding(
                    isHarmful(differences, to: step) ? .wrong : .warning, subject,
                    (differences.map(\.description) + [rest?.message].compactMap(\.self)).joined(separator: "; ")
                        + step.counts(messages, consumers),
                    hint: "RabbitMQ does not change existing queues: empty and delete it, then \(apply)")
            ] + deadLetters(of: step, differences, server) + limit(of: step, differences, server)
                + mirroring(of: step, differences, server)
        case .hidden:
            return [
                ConnectionFinding(
                    .note, subject, "it exists; its arguments can be compared only with the configure permission")
            ]
        case .refused(let error): return [.failure(subject, error)]
        }
    }

    func findings(about binding: TopologyPlan.Step) -> [ConnectionFinding] {
        [
            ConnectionFinding(
                .note, binding.subjectText, "AMQP cannot read a binding",
                hint: "harebell topology --config FILE --apply creates it if it is missing")
        ]
    }

    /// Whether the queue does not return messages as planned.
    private func isHarmful(_ differences: [Inequivalence], to step: TopologyPlan.Step) -> Bool {
        guard case .queue(let queue, _) = step else { return false }
        if queues.contains(queue.name), isStream(differences) { return true }
        guard queue.arguments["x-message-ttl"] != nil else { return false }
        let needed = ["x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key"]
        return differences.contains { needed.contains($0.name) }
    }

    /// A worker does not consume streams: they neither redeliver requests nor remove finished ones.
    private func isStream(_ differences: [Inequivalence]) -> Bool {
        differences.contains { $0.name == "x-queue-type" && $0.current == "stream" }
    }

    private func deadLetters(
        of step: TopologyPlan.Step, _ differences: [Inequivalence], _ server: ServerProperties
    ) -> [ConnectionFinding] {
        guard case .queue(let queue, _) = step, queues.contains(queue.name),
            differences.contains(where: { $0.name == "x-dead-letter-exchange" && $0.current == nil })
        else { return [] }
        let lost =
            switch deliveryLimit(of: queue, differences, server) {
            case .returns(let count, _): "the broker deletes a request that is redelivered more than \(count) times"
            case .firstFailure: "the broker deletes a request after its first failed delivery"
            case .classic, .unlimited, nil: "a request that the broker drops is lost"
            }
        return [
            ConnectionFinding(
                .warning, "dead letters of \(queue.name)",
                "it has no dead-letter exchange: unless a policy names one, \(lost)")
        ]
    }

    /// When the broker stops redelivering a request, according to the queue's arguments and the broker's version.
    private enum DeliveryLimit {
        case classic
        case unlimited
        /// RabbitMQ 3 treats a negative limit as a limit of one failed delivery.
        case firstFailure
        /// After this number of returns; the default of RabbitMQ 4 for a queue declared without a limit.
        case returns(String, isDefault: Bool)
    }

    /// - Returns: `nil` if the version is unknown.
    private func deliveryLimit(
        of queue: QueueDeclaration, _ differences: [Inequivalence], _ server: ServerProperties
    ) -> DeliveryLimit? {
        guard let version = Self.number(of: server) else { return nil }
        guard !differences.contains(where: { $0.name == "x-queue-type" }) else { return .classic }
        var limit: String?
        if case .int32(let wanted)? = queue.arguments["x-delivery-limit"] { limit = "\(wanted)" }
        if let difference = differences.first(where: { $0.name == "x-delivery-limit" }) { limit = difference.current }
        let isOld = version.major < 4
        guard let limit else { return isOld ? .unlimited : .returns("20", isDefault: true) }
        guard limit.hasPrefix("-") else { return .returns(limit, isDefault: false) }
        return isOld ? .firstFailure : .unlimited
    }

    /// The number of returns after which a request queue drops a request.
    private func limit(
        of step: TopologyPlan.Step, _ differences: [Inequivalence], _ server: ServerProperties
    ) -> [ConnectionFinding] {
        guard case .queue(let queue, _) = step, queues.contains(queue.name),
            let limit = deliveryLimit(of: queue, differences, server)
        else { return [] }
        func found(_ severity: ConnectionFinding.Severity, _ text: String, hint: String? = nil) -> [ConnectionFinding] {
            [ConnectionFinding(severity, "delivery limit of \(queue.name)", text, hint: hint)]
        }
        switch limit {
        case .classic:
            if isStream(differences) { return [] }
            return found(.note, "only quorum queues have one: a request that crashes its worker is redelivered forever")
        case .unlimited: return found(.ok, "none, unless a policy sets one")
        case .returns(let count, isDefault: true):
            return found(
                .warning,
                "\(count), RabbitMQ 4's default, unless a policy sets another: restarts of workers can use it up, and "
                    + "the broker drops a request without a result")
        case .firstFailure:
            return found(
                .wrong, "-1 means here: a request is dropped after its first failed delivery",
                hint: "only RabbitMQ 4 reads -1 as no limit; omit x-delivery-limit")
        case .returns(let count, isDefault: false): return found(.ok, count)
        }
    }

    /// Source: the release notes of RabbitMQ 4.0 (classic queue mirroring was removed).
    private func mirroring(
        of step: TopologyPlan.Step, _ differences: [Inequivalence], _ server: ServerProperties
    ) -> [ConnectionFinding] {
        guard case .queue(let queue, _) = step, queues.contains(queue.name),
            let version = Self.number(of: server), version.major < 4,
            differences.contains(where: { $0.name == "x-queue-type" && $0.current == nil })
        else { return [] }
        return [
            ConnectionFinding(
                .warning, "mirroring of \(queue.name)",
                "a policy may mirror this classic queue; RabbitMQ 4 ignores such policies and keeps one copy",
                hint: "rabbitmqctl list_policies shows ha-mode; use a quorum queue before you upgrade")
        ]
    }

    // MARK: Permissions

    /// - Parameter error: the response to a consume request that cannot be granted.
    /// - Returns: `nil` if the queue is missing, which another finding reports.
    func reading(_ queue: String, _ error: AMQPError) -> ConnectionFinding? {
        switch error.code {
        case .preconditionFailed: ConnectionFinding(.ok, "consuming \(queue)", "permitted")
        case .notFound: nil
        default: .failure("consuming \(queue)", error, hint: "the user needs the read permission")
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

extension TopologyPlan.Step {
    fileprivate var subjectText: String {
        switch self {
        case .exchange(let exchange): "exchange \(exchange.name)"
        case .queue(let queue, _): "queue \(queue.name)"
        case .binding(let queue, let exchange, _): "binding \(exchange) -> \(queue)"
        }
    }

    fileprivate func counts(_ messages: UInt32, _ consumers: UInt32) -> String {
        guard case .queue = self else { return "" }
        return "; \(messages) message\(messages == 1 ? "" : "s"), \(consumers) consumer\(consumers == 1 ? "" : "s")"
    }
}
