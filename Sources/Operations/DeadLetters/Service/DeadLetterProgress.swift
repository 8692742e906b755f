import Configuration
import Decoding

/// The progress and the result of an order.
struct DeadLetterProgress: Sendable {
    let queue: String
    let verb: DeadLetterOperation.Verb
    /// `nil` while it is running: `complete`, `interrupted`, `aborted`, `locked` or `failed`.
    var end: String?
    /// The reason for any end other than complete, for operators.
    var detail: String?
    var tally = DeadLetterTally()
    /// The groups that a scan found.
    var groups: DeadLetterGroups?

    private let target: ReplayTarget

    init(_ configuration: Configuration, verb: DeadLetterOperation.Verb) {
        queue = configuration.deadLetter.routingKey
        target = ReplayTarget(configuration)
        self.verb = verb
    }

    /// The members of `/dead-letters/run`.
    var members: [(String, JSONOutput)] {
        [
            ("order", .text(verb.rawValue)), ("queue", .text(queue)), ("running", .boolean(end == nil)),
            ("end", .optional(end)), ("detail", .optional(detail)),
        ] + tally.members("replayed") + (groups ?? DeadLetterGroups()).members { target.queue(from: $0.queue) }
    }
}
