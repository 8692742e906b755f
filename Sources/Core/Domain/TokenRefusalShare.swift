/// How many of the newest answers to an app refused a device token that the app or its environment does not know.
///
/// Tokens of devices that are merely gone are refused as `Unregistered` and do not count: many that are not known at
/// all mean that the environment or the topic is wrong.
package struct TokenRefusalShare {
    /// When a share is taken to mean the environment, beside ``enoughOfNothingElse``.
    package struct Limit: Equatable, Sendable {
        /// How many of the newest answers are looked at; not before there are so many.
        package var answers: Int
        /// From which share of them on, in percent.
        package var percent: Int

        package init(answers: Int = 100, percent: Int = 50) {
            precondition(answers > 0 && 1...100 ~= percent)
            self.answers = answers
            self.percent = percent
        }
    }

    /// So many answers are enough when every one was a refusal, also where ``Limit/answers`` are more: what has the
    /// wrong environment from the start loses no more device tokens than these.
    package static let enoughOfNothingElse = 20

    /// Whether each of the newest answers was a refusal; a ring once it is full.
    private var ring: [Bool] = []
    private var next = 0
    /// Refusals among the newest answers.
    package private(set) var refused = 0

    package init() {}

    /// How many answers are looked at by now.
    package var answers: Int {
        ring.count
    }

    /// APNs answered about a device token.
    ///
    /// - Returns: Whether the limit is reached by now.
    package mutating func answered(isRefusal: Bool, limit: Limit) -> Bool {
        if ring.count < limit.answers {
            ring.append(isRefusal)
        } else {
            if ring[next] { refused -= 1 }
            ring[next] = isRefusal
            next = (next + 1) % limit.answers
        }
        if isRefusal { refused += 1 }
        if refused == ring.count, refused >= Self.enoughOfNothingElse { return true }
        return ring.count == limit.answers && refused * 100 >= limit.percent * limit.answers
    }

    /// What was answered before means nothing any more.
    package mutating func reset() {
        ring.removeAll(keepingCapacity: true)
        next = 0
        refused = 0
    }
}
