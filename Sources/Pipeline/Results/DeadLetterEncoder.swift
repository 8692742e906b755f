package import AMQP
package import Core

/// Writes the copy of a failed request: its body untouched, its properties kept, and what became of it in headers.
package struct DeadLetterEncoder: Sendable {
    /// In bytes.
    static let maximumDetail = 1024
    /// The results that no queue took, in bytes; what is beyond that is left out.
    static let maximumResults = 65_536
    /// All headers together, in bytes: with the other properties they must fit into one frame, and the broker adds
    /// some.
    static let maximumHeaders = 111_072

    package var route: PublishRoute
    /// Names this process: host, process and version.
    package var worker: String

    package init(route: PublishRoute, worker: String) {
        self.route = route
        self.worker = worker
    }

    /// What a peer's headers or APNs' answer do not leave room for is left out. The body is always there.
    ///
    /// - Parameters:
    ///   - results: bodies of results that no queue took; the letter holds them, as an array if there are several.
    ///   - id: the `apns-id` of the notification that failed; `nil` if it never got one.
    ///   - queue: the name of the queue that the delivery came from.
    ///   - decoder: the name of the decoder that read it.
    ///   - firstSeen: when it arrived here; an earlier one in its headers, from a failure before, is kept.
    ///   - done: what a replay leaves out, because it has not failed; `nil` for nothing.
    package func encode(
        _ delivery: Delivery, report: Report, results: [ArraySlice<UInt8>] = [], id: NotificationID?, queue: String,
        decoder: String, firstSeen: WallTime,
        done: DoneBitmap? = nil, now: WallTime
    ) -> Publication {
        let properties = Republishing.properties(of: delivery)
        var headers = properties.headers ?? FieldTable()
        Republishing.markOrigin(of: delivery, queue: queue, firstSeen: firstSeen, in: &headers)
        mark(&headers, report, id: id, decoder: decoder, now: now)
        headers["harebell-result"] = Self.joined(results).map { .text($0) }
        headers[RequestHistory.Header.done] = done.map { .text($0.text) }
        headers[HeaderFit.omitted] = nil
        for header in RequestHistory.Header.parkedOnly { headers[header] = nil }
        return Publication(
            exchange: route.exchange, routingKey: route.routingKey, mandatory: true,
            properties: Self.fitted(properties, headers) ?? bare(delivery, report, queue: queue), body: delivery.body)
    }

    /// - Returns: `nil` if the headers do not fit, or cannot be written.
    private static func fitted(_ original: MessageProperties, _ headers: FieldTable) -> PublicationProperties? {
        guard let headers = HeaderFit.fit(headers, limit: maximumHeaders) else { return nil }
        var properties = original
        properties.headers = headers
        do {
            return try PublicationProperties(properties)
        } catch {
            return nil
        }
    }

    /// What is left where nothing else fits.
    private func bare(_ delivery: Delivery, _ report: Report, queue: String) -> PublicationProperties {
        var properties = PublicationProperties()
        properties.headers = HeaderFit.bare(
            outcome: ArraySlice(report.outcome.name.description.utf8), queue: ArraySlice(queue.utf8))
        properties.messageID = delivery.messageID
        properties.correlationID = delivery.correlationID
        properties.replyTo = delivery.replyTo
        properties.contentType = delivery.contentType
        properties.contentEncoding = delivery.contentEncoding
        properties.timestamp = delivery.timestamp
        return properties
    }

    /// One result as it is, several as a JSON array of as many as fit; `nil` for none.
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

    private func mark(
        _ headers: inout FieldTable, _ report: Report, id: NotificationID?, decoder: String, now: WallTime
    ) {
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
