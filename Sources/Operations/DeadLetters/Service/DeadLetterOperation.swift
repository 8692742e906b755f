import Core

/// An operator's order over HTTP.
struct DeadLetterOperation: Sendable {
    enum Verb: String, Sendable {
        /// Count without changing anything.
        case look
        case replay
    }

    static let defaultRate = 500
    static let rates = 1...1_000_000
    /// Ends a replay if more than this share of the messages returned, in percent.
    static let abortAbove = 50

    let verb: Verb
    let filter: DeadLetterFilter
    let limit: Int?
    /// Messages per second.
    let rate: Int

    /// - Parameter body: an object with optional members: `outcomes`, `reasons`, `topic`, `environment`, `origin`,
    ///   `since`, `until`, `limit`; and for a replay `rate` and `dry_run`.
    init(_ body: [UInt8], replays: Bool, at now: WallTime) throws(ArchiveFailure) {
        var members = try ObjectMembers(JSONNode(body[...]), in: "the body")
        var filter = DeadLetterFilter()
        filter.outcomes = try members.takeAny("outcomes", Self.texts) ?? []
        for outcome in filter.outcomes where !Outcome.allCases.contains(where: { $0.name.description == outcome }) {
            throw ArchiveFailure(description: "outcomes: unknown outcome")
        }
        filter.reasons = try members.takeAny("reasons", Self.texts) ?? []
        filter.topic = try members.takeAny("topic", Self.text)
        filter.environment = try members.takeAny("environment") { node throws(ArchiveFailure) in
            guard let environment = Environment(rawValue: try Self.text(node)) else {
                throw ArchiveFailure(description: "expected production or development")
            }
            return environment
        }
        filter.origin = try members.takeAny("origin", Self.text)
        let time = { (node: JSONNode) throws(ArchiveFailure) in
            guard let time = WallTime(argument: try Self.text(node), now: now) else {
                throw ArchiveFailure(description: "expected a time as 2026-11-21T22:00:00Z, or how long ago, as 90m")
            }
            return time
        }
        filter.since = try members.takeAny("since", time)
        filter.until = try members.takeAny("until", time)
        self.filter = filter
        limit = try members.takeAny("limit") { node throws(ArchiveFailure) in try Self.integer(node, 1...Int.max) }
        var isDry = true
        var rate: Int?
        if replays {
            rate = try members.takeAny("rate") { node throws(ArchiveFailure) in try Self.integer(node, Self.rates) }
            isDry = try members.takeAny("dry_run", Self.boolean) ?? false
        }
        self.rate = rate ?? Self.defaultRate
        verb = isDry ? .look : .replay
        try members.end()
    }

    private static func texts(_ node: JSONNode) throws(ArchiveFailure) -> [String] {
        guard case .array(let nodes) = node else { throw ArchiveFailure(description: "expected an array of texts") }
        var texts: [String] = []
        for node in nodes { texts.append(try text(node)) }
        return texts
    }

    private static func text(_ node: JSONNode) throws(ArchiveFailure) -> String {
        guard case .string(let text) = node else { throw ArchiveFailure(description: "expected a text") }
        return String(decoding: text, as: UTF8.self)
    }

    private static func boolean(_ node: JSONNode) throws(ArchiveFailure) -> Bool {
        guard case .boolean(let value) = node else { throw ArchiveFailure(description: "expected true or false") }
        return value
    }

    private static func integer(_ node: JSONNode, _ range: ClosedRange<Int>) throws(ArchiveFailure) -> Int {
        guard case .integer(let value) = node, range.contains(Int(value)) else {
            throw ArchiveFailure(description: "expected an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(value)
    }
}

extension ObjectMembers {
    /// `nil` for a missing or null member.
    fileprivate mutating func takeAny<Value>(
        _ name: String, _ read: (JSONNode) throws(ArchiveFailure) -> Value
    ) throws(ArchiveFailure) -> Value? {
        let value = try takeIfPresent(name) { node throws(ArchiveFailure) -> Value? in
            if case .null = node { return nil }
            return try read(node)
        }
        return value ?? nil
    }
}
