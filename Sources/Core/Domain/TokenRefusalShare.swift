/// The share of a topic's newest responses that refused a device token as unknown to the app or its environment.
///
/// Inactive tokens are refused as `Unregistered` and do not count. Many unknown tokens mean that the environment or
/// the topic is wrong.
package struct TokenRefusalShare {
    /// The share above which the environment is suspected, in addition to ``enoughRefusals``.
    package struct Limit: Equatable, Sendable {
        /// The number of newest responses to evaluate; the share is not evaluated before.
        package var responses: Int
        /// The threshold, in percent.
        package var percent: Int

        package init(responses: Int = 100, percent: Int = 50) {
            precondition(responses > 0 && 1...100 ~= percent)
            self.responses = responses
            self.percent = percent
        }
    }

    /// This many responses suffice if all were refusals, even if ``Limit/responses`` is larger. It limits how many
    /// device tokens are lost when the environment is wrong from the start.
    package static let enoughRefusals = 20

    /// Whether each of the newest responses was a refusal; a ring buffer once it is full.
    private var ring: [Bool] = []
    private var next = 0
    /// Refusals among the newest responses.
    package private(set) var refused = 0

    package init() {}

    /// The number of responses recorded, up to the limit.
    package var responses: Int {
        ring.count
    }

    /// - Parameter limit: always the same one.
    /// - Returns: Whether the limit is reached.
    package mutating func responded(isRefusal: Bool, limit: Limit) -> Bool {
        if ring.count < limit.responses {
            ring.append(isRefusal)
        } else {
            if ring[next] { refused -= 1 }
            ring[next] = isRefusal
            next = (next + 1) % limit.responses
        }
        if isRefusal { refused += 1 }
        if refused == ring.count, refused >= Self.enoughRefusals { return true }
        return ring.count == limit.responses && refused * 100 >= limit.percent * limit.responses
    }

    package mutating func reset() {
        ring.removeAll(keepingCapacity: true)
        next = 0
        refused = 0
    }
}
