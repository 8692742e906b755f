import Core
import Decoding

/// The output of `decode`.
struct DecodingReport {
    private let preview: DecodingPreview

    init(_ preview: DecodingPreview) {
        self.preview = preview
    }

    var json: String {
        JSONOutput.text(
            of: [
                ("decoder", .text(preview.decoder)), ("version", .optional(preview.version)),
                ("answer", .text(outcome)), ("detail", .optional(detail)),
                ("not-before", notBefore.map { .integer(Int($0)) } ?? .null),
                ("notifications", .array(preview.entries.map { .object(Self.members($0)) })),
            ])
    }

    /// The text output.
    var lines: [String] {
        guard case .request(let request) = preview.decoded else {
            return ["\(outcome)\(detail.map { ": \($0)" } ?? "")"]
        }
        let invalid = (request.refusals.map(\.failure.detail) + failures).map { "invalid: \($0)" }
        let valid = preview.entries.enumerated().flatMap { index, entry in
            let head = "notification \(index + 1) of \(preview.entries.count)"
            let lines = Self.members(entry).compactMap { name, value -> String? in
                switch value {
                case .null: nil
                case .text(let text): "  \(name): \(text)"
                default: "  \(name): \(ControlCharacters.escaped(json: value.description))"
                }
            }
            return [head] + lines
        }
        return invalid + (notBefore.map { ["not-before: \($0)"] } ?? []) + valid
    }

    private var notBefore: Int64? {
        if case .request(let request) = preview.decoded { request.notBefore } else { nil }
    }

    private static func joined(_ details: [String]) -> String? {
        details.isEmpty ? nil : details.joined(separator: "; ")
    }

    /// Why notifications of a request would not be sent.
    private var failures: [String] { preview.entries.compactMap(\.failure) }

    private var outcome: String {
        switch preview.decoded {
        case .request: "request"
        case .ignore: "ignore"
        case .reject: "reject"
        case .later: "later"
        }
    }

    private var detail: String? {
        switch preview.decoded {
        case .request(let request):
            Self.joined(request.refusals.map(\.failure.detail) + failures)
        case .ignore(let reason): reason
        case .reject(let failure): failure.detail
        case .later(let pause): "in \(pause.components.seconds) s"
        }
    }

    /// The fields of a request, in the documented order.
    private static func members(_ entry: DecodingPreview.Entry) -> [(String, JSONOutput)] {
        let notification = entry.notification
        var members: [(String, JSONOutput)] = []
        switch notification.target {
        case .device(let token): members.append(("device-token", .bytes(token.hex[...])))
        case .channel(let id): members.append(("apns-channel-id", .bytes(id)))
        case .management(let operation): members.append(("channel", .text(operation.name.description)))
        }
        members += [
            ("apns-topic", .optional(entry.topic)), ("apns-push-type", .text(notification.pushType.description)),
            ("apns-id", .text(entry.id.description)),
            ("apns-priority", notification.priority.map { .integer(Int($0.rawValue)) } ?? .null),
            ("apns-expiration", notification.expiration.map { .integer(Int($0)) } ?? .null),
            ("apns-collapse-id", .bytes(notification.collapseID)),
            ("environment", .optional(entry.environment?.rawValue)),
            (
                "payload",
                notification.payload.isEmpty ? .null : .json(String(decoding: notification.payload, as: UTF8.self))
            ),
            ("finding", .optional(entry.finding)), ("invalid", .optional(entry.failure)),
        ]
        return members
    }
}
