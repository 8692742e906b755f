import Configuration
import Decoding

/// How far an order is, and what came of it.
struct DeadLetterProgress: Sendable {
    let queue: String
    let verb: DeadLetterOrder.Verb
    /// `nil` while it goes on: `complete`, `interrupted`, `aborted`, `locked` or `failed`.
    var end: String?
    /// Why it has ended otherwise than complete, for a person.
    var detail: String?
    var tally = DeadLetterTally()
    /// Of a look: what there is.
    var groups: DeadLetterGroups?

    private let target: ReplayTarget

    init(_ configuration: Configuration, verb: DeadLetterOrder.Verb) {
        queue = configuration.deadLetter.routingKey
        target = ReplayTarget(configuration)
        self.verb = verb
    }

    /// What `/dead-letters/run` says.
    var members: [(String, JSONAnswer)] {
        [
            ("order", .text(verb.rawValue)), ("queue", .text(queue)), ("running", .boolean(end == nil)),
            ("end", .optional(end)), ("detail", .optional(detail)),
        ] + tally.members("replayed") + (groups ?? DeadLetterGroups()).members { target.queue(from: $0.queue) }
    }
}
