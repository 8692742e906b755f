package import AMQP
package import Core

/// Writes a dead letter: a copy of a failed request with the same body and properties, and headers about the failure.
package struct DeadLetterEncoder: Sendable {
    /// In bytes.
    static let maximumDetail = 1024
    /// The results that no queue accepted, in bytes; the rest is omitted.
    static let maximumResults = 65_536
    /// All headers, in bytes. With the other properties and the headers that the broker adds, they must fit into one
    /// frame.
    static let maximumHeaders = 111_072

    package var route: PublishRoute
    /// Identifies this process: host, process and version.
    package var worker: String

    /// Headers that do not fit are omitted, the body never.
    ///
    /// - Parameters:
    ///   - results: bodies of results that no queue accepted; several become a JSON array.
    ///   - id: the `apns-id` of the failed notification; `nil` if it never got one.
    ///   - queue: the name of the queue that the delivery came from.
    ///   - decoder: the name of the decoder that decoded it.
    ///   - firstSeen: its arrival; an earlier time in its headers, from a previous failure, is kept.
    ///   - done: the notifications that a replay omits, because they did not fail, or if none did, because their
    ///     results reached a queue; `nil` for those that the delivery omits.
    package func encode(
        _ delivery: Delivery, report: Report, results: [ArraySlice<UInt8>] = [], id: NotificationID?, queue: String,
        decoder: String, firstSeen: WallTime, done: DoneBitmap? = nil, now: WallTime
    ) -> Publication {
        var properties = Republishing.properties(of: delivery)
        var headers = Republishing.headers(properties, of: delivery, queue: queue, firstSeen: firstSeen)
        headers["harebell-outcome"] = .string(report.outcome.name.description)
        headers["harebell-status"] = report.status.map { .int32(Int32($0)) }
        headers["harebell-reason"] = report.reason.map { .string($0.rawValue) }
        headers["harebell-detail"] = report.detail.map { .text(Self.shortened($0)) }
        headers["harebell-attempts"] = .int32(Int32(clamping: report.attempts))
        headers["harebell-apns-id"] = id.map { .string($0.description) }
        headers["harebell-failed-at"] = .string(now.inUTC)
        headers["harebell-worker"] = .string(worker)
        headers["harebell-decoder"] = .string(decoder)
        if headers["harebell-replays"] == nil { headers["harebell-replays"] = .int32(0) }
        headers["harebell-result"] = Self.joined(results).map { .text($0) }
        if let done { headers[RequestHistory.Header.done] = .text(done.text) }
        headers[HeaderFit.omitted] = nil
        for header in RequestHistory.Header.parkedOnly { headers[header] = nil }
        properties.headers = HeaderFit.fit(headers, limit: Self.maximumHeaders)
        return Publication(
            exchange: route.exchange, routingKey: route.routingKey, properties: properties, body: delivery.body)
    }

    /// One result unchanged, several as a JSON array of as many as fit; `nil` for none.
    private static func joined(_ results: [ArraySlice<UInt8>]) -> [UInt8]? {
        guard results.count > 1 else { return results.first.map { Array($0) } }
        var text: [UInt8] = []
        for result in results where text.count + result.count + 2 <= maximumResults {
            text.append(UInt8(ascii: text.isEmpty ? "[" : ","))
            text += result
        }
        guard !text.isEmpty else { return nil }
        text.append(UInt8(ascii: "]"))
        return text
    }

    /// The first ``maximumDetail`` bytes, cut between two characters.
    private static func shortened(_ detail: String) -> [UInt8] {
        let bytes = Array(detail.utf8)
        guard bytes.count > maximumDetail else { return bytes }
        var end = maximumDetail
        while bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }
}
