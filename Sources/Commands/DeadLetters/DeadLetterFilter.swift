import Configuration
import Core
import Decoding

/// Selects dead letters; all conditions must hold.
struct DeadLetterFilter: Sendable, Equatable {
    /// Any of these; empty for all.
    var outcomes: [String] = []
    /// Any of these; empty for all.
    var reasons: [String] = []
    var topic: String?
    var environment: Environment?
    /// The earliest failure; letters without a time do not match.
    var since: WallTime?
    /// The end of the time range, exclusive; letters without a time do not match.
    var until: WallTime?
    /// The queue that it came from.
    var origin: String?
    /// An `apns-id` or a message id.
    var id: String?
    /// Leaves letters of requests that APNs accepted, unless that outcome is asked for: a replay would notify again.
    var isForReplay = false

    /// Whether every dead letter matches.
    var isEmpty: Bool { self == DeadLetterFilter() }

    func leaves(_ letter: DeadLetter) -> Bool {
        let accepted = "\(Outcome.accepted.name)"
        return isForReplay && letter.outcome == accepted && !outcomes.contains(accepted)
    }

    /// - Parameter reader: finds the app if the filter needs it.
    func matches(_ letter: DeadLetter, _ delivery: Delivery, _ reader: RequestReader) -> Bool {
        guard outcomes.isEmpty || letter.outcome.map(outcomes.contains) == true,
            reasons.isEmpty || letter.reason.map(reasons.contains) == true,
            origin == nil || letter.queue == origin,
            id == nil || letter.apnsID == id || letter.messageID == id
        else { return false }
        if let since, letter.failedAt.map({ $0 < since }) ?? true { return false }
        if let until, letter.failedAt.map({ $0 >= until }) ?? true { return false }
        if let topic, !reader.isMeant(topic, by: delivery, from: letter.queue) { return false }
        return environment == nil || reader.environment(of: delivery, from: letter.queue) == environment
    }
}

/// Decodes a dead letter as a request, also an invalid one.
struct RequestReader: Sendable {
    private let decoders: [String: any Decoder]
    private let standard: any Decoder = AutoDecoder()
    private let apps: [Configuration.App]
    private let maximumMessage: Int

    init(_ configuration: Configuration) {
        maximumMessage = configuration.broker.maximumMessage
        let known = DecoderSet(configuration.decoders)
        decoders = configuration.queues.reduce(into: [:]) { $0[$1.name] = known[$1.decoder] }
        apps = configuration.apps
    }

    /// - Parameter queue: the original queue, whose decoder is used.
    /// - Returns: for an invalid request, only a refusal with what could be read, as in its result.
    func request(of delivery: Delivery, from queue: String?) -> Request {
        let decoder = queue.flatMap { decoders[$0] } ?? standard
        switch (try? delivery.readable(limit: maximumMessage)).map({ decoder.decode($0, at: Self.afterAllWaiting) }) {
        case .request(let request)?: return request
        case .reject(let failure)? where failure.known != nil: return Request([], refusals: [(0, failure)])
        default: return Request([], refusals: [(0, DecodingFailure("", known: APNsHeadersDecoder.known(of: delivery)))])
        }
    }

    /// The end of the year 9999: every `not-before` has passed by then.
    private static let afterAllWaiting = WallTime(milliseconds: 253_402_300_799_999)

    private typealias Target = (topic: String?, environment: Environment?, type: PushType?)

    private func target(of delivery: Delivery, from queue: String?) -> Target {
        let request = request(of: delivery, from: queue)
        let known = request.notifications.isEmpty ? request.refusals.first?.failure.known : request.failure("").known
        let lacksTopic = known?.lacksTopic == true
        let named = known?.topic ?? (lacksTopic ? nil : APNsHeadersDecoder.known(of: delivery).topic)
        let only = lacksTopic && apps.count == 1 ? apps[0].topic : nil
        let topic = named.map { String(decoding: $0, as: UTF8.self) } ?? only
        return (topic, known?.environment, request.notifications.first?.pushType)
    }

    /// The topic in the request; if it has none, that of the only app; if it cannot be read, that in the header.
    func topic(of delivery: Delivery, from queue: String?) -> String? { target(of: delivery, from: queue).topic }

    /// Whether the request has this topic, or an app has this topic and the request adds the suffix of a push type.
    func isMeant(_ topic: String, by delivery: Delivery, from queue: String?) -> Bool {
        let target = target(of: delivery, from: queue)
        return target.topic == topic || meant(by: target).contains { $0.topic == topic }
    }

    /// The environment in the request, else that of the first app with its topic.
    func environment(of delivery: Delivery, from queue: String?) -> Environment? {
        let target = target(of: delivery, from: queue)
        return target.environment ?? meant(by: target).first?.environment
    }

    /// As in a worker, the full topic of a push type counts more than an equal bundle ID.
    private func meant(by target: Target) -> [Configuration.App] {
        guard case (let topic?, _, let type) = target else { return [] }
        let full = apps.filter { app in type.map { app.topic + $0.rules.topicSuffix.description == topic } ?? false }
        return full.isEmpty ? apps.meant(by: topic) : full
    }
}
