import Core

/// Compares a queue or an exchange on the broker with its desired declaration, and changes nothing.
///
/// A passive declaration checks that it exists. Then it is declared as wanted: the broker keeps what exists and names
/// one difference. That difference is copied into the next declaration, until the broker agrees. If it is deleted
/// between the two requests, the second one creates it as wanted.
///
/// Send ``nextRequest`` and pass the response to ``take(_:)`` until there is a ``finding``.
package struct DeclarationComparison {
    package enum Subject: Sendable, Equatable {
        case queue(QueueDeclaration)
        case exchange(ExchangeDeclaration)
    }

    package enum Finding: Sendable {
        /// Messages and consumers of a queue; 0 for an exchange.
        case asWanted(messages: UInt32, consumers: UInt32)
        case missing
        /// At least one difference, or an error that names none. `rest` is the last error if it could not be parsed:
        /// there may be more differences.
        case different([Inequivalence], rest: AMQPError?, messages: UInt32, consumers: UInt32)
        /// It exists, but this user may not declare it, so it cannot be compared.
        case hidden(AMQPError)
        /// The broker refuses the passive declaration: the permission is missing, or another connection owns the
        /// queue.
        case refused(AMQPError)
    }

    /// The comparison stops here; a declaration has fewer arguments.
    private static let maximumDifferences = 24

    private enum State {
        case inspecting
        case comparing
        case over(Finding)
    }

    package let wanted: Subject
    private var declared: Subject
    private var state = State.inspecting
    private var differences: [Inequivalence] = []
    private var counts: (messages: UInt32, consumers: UInt32) = (0, 0)

    package init(_ wanted: Subject) {
        self.wanted = wanted
        declared = wanted
    }

    package var finding: Finding? {
        if case .over(let finding) = state { finding } else { nil }
    }

    /// The next request; `nil` when the comparison is complete.
    package var nextRequest: ControlRequest? {
        switch (state, declared) {
        case (.inspecting, .queue(let queue)): .inspectQueue(queue.name)
        case (.inspecting, .exchange(let exchange)): .inspectExchange(exchange.name)
        case (.comparing, .queue(let queue)): .declareQueue(queue)
        case (.comparing, .exchange(let exchange)): .declareExchange(exchange)
        case (.over, _): nil
        }
    }

    package mutating func take(_ response: ControlResponse) {
        switch (state, response) {
        case (.inspecting, .refused(let error)):
            state = .over(error.code == .notFound ? .missing : .refused(error))
        case (.inspecting, _):
            if case .declared(_, let messages, let consumers) = response { counts = (messages, consumers) }
            state = .comparing
        case (.comparing, .refused(let error)): compared(error)
        case (.comparing, _):
            state = .over(
                differences.isEmpty
                    ? .asWanted(messages: counts.messages, consumers: counts.consumers) : different(rest: nil))
        case (.over, _): preconditionFailure("the comparison must not have more requests")
        }
    }

    private mutating func compared(_ error: AMQPError) {
        guard error.code != .accessRefused else {
            state = .over(.hidden(error))
            return
        }
        guard let difference = Inequivalence(error), differences.count < Self.maximumDifferences,
            !differences.contains(where: { $0.name == difference.name })
        else {
            state = .over(different(rest: error))
            return
        }
        differences.append(difference)
        if !takeOver(difference) { state = .over(different(rest: error)) }
    }

    private mutating func takeOver(_ difference: Inequivalence) -> Bool {
        switch declared {
        case .queue(var queue):
            guard difference.apply(to: &queue) else { return false }
            declared = .queue(queue)
        case .exchange(var exchange):
            guard difference.apply(to: &exchange) else { return false }
            declared = .exchange(exchange)
        }
        return true
    }

    /// The type comes first: it can cause other differences.
    private func different(rest: AMQPError?) -> Finding {
        let first = differences.filter { $0.name == "x-queue-type" }
        return .different(
            first + differences.filter { $0.name != "x-queue-type" }, rest: rest, messages: counts.messages,
            consumers: counts.consumers)
    }
}
