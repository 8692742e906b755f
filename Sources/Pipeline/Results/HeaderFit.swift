import AMQP
import Core

/// Omits headers of a publish until the rest fits into one frame.
///
/// The content header of a message is one frame, whose size the broker chooses. The explanations of a failure are
/// omitted first, then the largest headers of the request; `harebell-omitted` names those. Source: AMQP 0-9-1, section
/// 4.2.6.
enum HeaderFit {
    /// Names the omitted headers; `*` means all of the request's.
    static let omitted = "harebell-omitted"
    /// The maximum length of that list, in bytes.
    static let maximumNames = 1024

    /// The maximum length of a queue name, in bytes. Source: AMQP 0-9-1, section 4.2.5.3 (short strings).
    private static let maximumName = 255

    /// Omitted before any header of the request, in this order.
    private static let explanations = ["harebell-detail", "harebell-result"]
    /// The headers that a worker writes. A prefix is not enough: requests may have other headers with the same prefix.
    private static let own: Set<[UInt8]> = Set(
        [
            "outcome", "status", "reason", "detail", "result", "attempts", "apns-id", "queue", "exchange",
            "routing-key", "first-seen", "failed-at", "worker", "decoder", "replays", "done", "omitted",
        ].map { Array("harebell-\($0)".utf8) })

    /// - Parameter limit: the maximum size of all headers, in bytes.
    static func fit(_ original: FieldTable, limit: Int) -> FieldTable {
        var headers = original
        guard var size = size(of: headers) else { return bare(original) }
        for name in explanations where size > limit {
            headers[name] = nil
            size = Self.size(of: headers) ?? .max
        }
        guard size > limit else { return headers }
        let foreign = headers.entries.filter { !own.contains($0.name) }
            .map { (name: $0.name, size: Self.size(of: FieldTable([$0])) ?? 0) }.sorted { $0.size > $1.size }
        var dropped: Set<[UInt8]> = []
        var names: [UInt8] = []
        // With its name, two lengths and the type.
        size += omitted.utf8.count + 6 + maximumNames
        for entry in foreign where size > limit {
            dropped.insert(entry.name)
            if names.count < maximumNames { names += names.isEmpty ? entry.name : Array(", ".utf8) + entry.name }
            size -= entry.size
        }
        headers.entries.removeAll { dropped.contains($0.name) }
        headers[omitted] = .text(Array(names.prefix(maximumNames)))
        return Self.size(of: headers).map { $0 <= limit } == true ? headers : bare(original)
    }

    /// - Returns: `nil` if a header name is too long.
    fileprivate static func size(of headers: FieldTable) -> Int? {
        try? headers.encoded().count
    }

    /// The minimal headers if nothing else fits: the outcome of the request, and the queue for a replay.
    private static func bare(_ headers: FieldTable) -> FieldTable {
        func text(_ name: String) -> FieldValue {
            if case .text(let text)? = headers[name] { .text(Array(text.prefix(maximumName))) } else { .text([]) }
        }
        return [
            "harebell-outcome": text("harebell-outcome"), "harebell-queue": text("harebell-queue"),
            omitted: .string("*"),
        ]
    }
}

extension Publication {
    /// The space for headers that the broker may add when it moves the message, in bytes: the history of a dead letter
    /// (`x-death`) and the delivery count. Source: rabbitmq.com/docs/dlx.
    private static func reserve(_ limit: Int) -> Int { min(20_000, limit / 4) }

    /// The same message with as many headers as fit.
    ///
    /// - Parameter limit: the maximum size of the properties in bytes, see ``AMQPConnection/maximumProperties``.
    /// - Returns: `nil` if it has no headers.
    func fitting(_ limit: Int) -> Publication? {
        var properties = properties
        guard let headers = properties.headers, let size = HeaderFit.size(of: headers) else { return nil }
        let room = limit - Self.reserve(limit) - (propertiesSize - size)
        properties.headers = HeaderFit.fit(headers, limit: room)
        var publication = self
        publication.properties = properties
        return publication
    }
}
