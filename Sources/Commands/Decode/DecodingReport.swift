import Configuration
import Core
import Decoding
import Pipeline
import System
import TLS

/// How a worker would decode a message from a queue, as text or JSON.
struct DecodingReport {
    private let decoder: String
    private let answer: String
    private var detail: String?
    private var notBefore: Int64?
    /// The fields of each notification of a request, in the documented order.
    private var notifications: [[(String, JSONOutput)]] = []
    /// Why a worker with this configuration would not send parts of a request.
    private var problems: [String] = []

    /// - Parameters:
    ///   - queue: the queue that the message would come from; part of the `apns-id`.
    ///   - configuration: its apps determine the topics; `nil` ignores apps.
    init(
        _ decoded: Decoded, of delivery: Delivery, by decoder: String, from queue: String,
        _ configuration: Configuration?
    ) throws(TLSError) {
        self.decoder = decoder
        switch decoded {
        case .request: answer = "request"
        case .ignore(let reason): (answer, detail) = ("ignore", reason)
        case .reject(let failure):
            // The configuration's certificates may be on another machine.
            let apps = configuration.flatMap { try? AppTable($0) }
            (answer, detail) = ("reject", (apps?.checked(failure) ?? failure).detail)
        case .later(let pause): (answer, detail) = ("later", "in \(pause.components.seconds) s")
        }
        guard case .request(let request) = decoded else { return }
        let apps = try configuration.map { settings throws(TLSError) in try AppTable(settings) }
        notBefore = request.notBefore
        problems = request.refusals.map { (apps?.checked($0.failure) ?? $0.failure).detail }
        let latest = SystemClock.now().wall.seconds + RequestPipeline.longestAhead.components.seconds
        if let notBefore, notBefore > latest { problems.append("not-before: more than 30 days ahead") }
        let refused = Set(request.refusals.map(\.position))
        let places = (0..<request.count).filter { !refused.contains($0) }
        for (place, notification) in zip(places, request.notifications) {
            let id = RequestKey.notificationID(
                own: notification.id, position: request.count == 1 ? nil : place, of: delivery, queue: queue,
                key: request.key)
            let resolved = apps?.resolve(notification)
            let found = PayloadCheck.findings(in: notification, topic: try? resolved?.get().topic)
            let findings = found.flatMap { $0.isEmpty ? nil : $0.detail }
            add(notification, id, finding: Self.joined([findings, request.hint].compactMap(\.self)), resolved)
        }
        detail = Self.joined(problems)
    }

    /// Whether a worker would refuse it, or a part of it.
    var isRefused: Bool { answer == "reject" || !problems.isEmpty }

    /// - Parameters:
    ///   - finding: violations of Apple's tables in its payload; `nil` for none.
    ///   - resolved: the app; `nil` without a configuration.
    private mutating func add(
        _ notification: Notification, _ id: NotificationID, finding: String?,
        _ resolved: Result<AppTable.Match, Complaint>?
    ) {
        var (topic, environment, failure) = (notification.topic, notification.environment, String?.none)
        switch resolved {
        case .success(let match)?: (topic, environment) = (match.topic, match.environment)
        case .failure(let problem)?: failure = problem.message
        case nil: break
        }
        if let failure { problems.append(failure) }
        let target: (String, JSONOutput) =
            switch notification.target {
            case .device(let token): ("device-token", .bytes(token.hex[...]))
            case .channel(let id): ("apns-channel-id", .bytes(id))
            case .management(let operation): ("channel", .text(operation.name.description))
            }
        let payload = String(decoding: notification.payload, as: UTF8.self)
        notifications.append([
            target, ("apns-topic", .bytes(topic)), ("apns-push-type", .text(notification.pushType.description)),
            ("apns-id", .text(id.description)),
            ("apns-priority", notification.priority.map { .integer(Int($0.rawValue)) } ?? .null),
            ("apns-expiration", notification.expiration.map { .integer(Int($0)) } ?? .null),
            ("apns-collapse-id", .bytes(notification.collapseID)),
            ("environment", .optional(environment?.rawValue)), ("payload", payload.isEmpty ? .null : .json(payload)),
            ("finding", .optional(finding)), ("invalid", .optional(failure)),
        ])
    }

    var json: [(String, JSONOutput)] {
        [
            ("decoder", .text(decoder)), ("version", .text(DecoderFormat.version)), ("answer", .text(answer)),
            ("detail", .optional(detail)), ("not-before", notBefore.map { .integer(Int($0)) } ?? .null),
            ("notifications", .array(notifications.map { .object($0) })),
        ]
    }

    var lines: [String] {
        guard answer == "request" else { return ["\(answer)\(detail.map { ": \($0)" } ?? "")"] }
        let invalid = problems.map { "invalid: \($0)" }
        let valid = notifications.enumerated().flatMap { index, members in
            ["notification \(index + 1) of \(notifications.count)"]
                + JSONOutput.table(members).map { "  \($0)" }
        }
        return invalid + (notBefore.map { ["not-before: \($0)"] } ?? []) + valid
    }

    private static func joined(_ details: [String]) -> String? {
        details.isEmpty ? nil : details.joined(separator: "; ")
    }
}
