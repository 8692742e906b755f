import Core

/// Finds out in what a queue or an exchange on the broker differs from what it is to be, and changes nothing.
///
/// A passive declaration tells whether it is there. Only then it is declared as wanted: the broker leaves what exists
/// as it is and names one difference, which is taken over into the next declaration, until the broker agrees. (Should
/// it be deleted between the two requests, the second one makes it anew, as wanted.)
///
/// Ask ``nextRequest``, give the answer to ``take(_:)``, until there is a ``finding``.
package struct DeclarationComparison {
    package enum Subject: Sendable, Equatable {
        case queue(QueueDeclaration)
        case exchange(ExchangeDeclaration)
    }

    package enum Finding: Sendable {
        /// Messages and consumers are a queue's.
        case asWanted(messages: UInt32, consumers: UInt32)
        case missing
        /// At least one difference, or words of the broker that name none; ``rest`` is what it said last, where that
        /// could not be read: there may be more differences.
        case different([Inequivalence], rest: AMQPError?, messages: UInt32, consumers: UInt32)
        /// It is there, but may not be declared by this user: it cannot be compared.
        case hidden(AMQPError)
        /// The broker refuses even to say whether it is there: the permission is missing, or it belongs to another
        /// connection.
        case refused(AMQPError)
    }

    /// More differences than this are not asked for: there are fewer arguments.
    private static let maximumDifferences = 24

    private enum State {
        case looking
        case comparing
        case over(Finding)
    }

    package let wanted: Subject
    private var declared: Subject
    private var state = State.looking
    private var differences: [Inequivalence] = []
    private var counts: (messages: UInt32, consumers: UInt32) = (0, 0)

    package init(_ wanted: Subject) {
        self.wanted = wanted
        declared = wanted
    }

    package var finding: Finding? {
        if case .over(let finding) = state { finding } else { nil }
    }

    /// `nil` when it is over.
    package var nextRequest: ControlRequest? {
        switch (state, declared) {
        case (.looking, .queue(let queue)): .inspectQueue(queue.name)
        case (.looking, .exchange(let exchange)): .inspectExchange(exchange.name)
        case (.comparing, .queue(let queue)): .declareQueue(queue)
        case (.comparing, .exchange(let exchange)): .declareExchange(exchange)
        case (.over, _): nil
        }
    }

    package mutating func take(_ reply: ControlReply) {
        switch (state, reply) {
        case (.looking, .refused(let error)):
            state = .over(error.code == .notFound ? .missing : .refused(error))
        case (.looking, _):
            if case .declared(_, let messages, let consumers) = reply { counts = (messages, consumers) }
            state = .comparing
        case (.comparing, .refused(let error)): compared(error)
        case (.comparing, _):
            state = .over(
                differences.isEmpty
                    ? .asWanted(messages: counts.messages, consumers: counts.consumers) : different(rest: nil))
        case (.over, _): preconditionFailure("nothing is asked any more")
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

    /// The type comes first: other differences may follow from it.
    private func different(rest: AMQPError?) -> Finding {
        let first = differences.filter { $0.name == "x-queue-type" }
        return .different(
            first + differences.filter { $0.name != "x-queue-type" }, rest: rest, messages: counts.messages,
            consumers: counts.consumers)
    }
}
