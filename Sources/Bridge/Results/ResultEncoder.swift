package import AMQP
package import Core

/// A result that is ready to be published, to one place or to several.
package struct EncodedResult: Sendable {
    /// In the form that is wanted: JSON, or a message of the xorc events.
    package let body: [UInt8]
    package let properties: PublicationProperties

    /// Persistent and mandatory.
    package func publication(to route: PublishRoute) -> Publication {
        Publication(
            exchange: route.exchange, routingKey: route.routingKey, mandatory: true, properties: properties,
            body: body[...])
    }
}

/// Writes what became of a notification, for whoever asked for it.
package struct ResultEncoder: Sendable {
    private static let contentType = ArraySlice("application/json".utf8)
    private static let type = ArraySlice("harebell.result".utf8)
    /// What nearly all results have in their headers and in the middle of their body, made once.
    private static let common = Report(outcome: .accepted, status: 200)
    private static let commonHeaders = headers(common)
    private static let commonAnswer = answer(common)

    package init() {}

    /// - Parameters:
    ///   - id: the notification's `apns-id`; `nil` if it never got one.
    ///   - position: among the notifications of a fan-out; `nil` if there is only one.
    ///   - notification: `nil` for a message that could not be decoded.
    ///   - topic: what went, or would have gone, into `apns-topic`; `nil` takes the notification's own.
    ///   - environment: likewise.
    ///   - delivery: the request.
    ///   - format: of the body; the properties and headers are the same for all.
    package func encode(
        _ report: Report, id: NotificationID?, position: Int? = nil, notification: Notification?,
        topic: ArraySlice<UInt8>? = nil, environment: Environment? = nil, delivery: Delivery,
        format: Configuration.ResultFormat = .harebell
    ) -> EncodedResult {
        var properties = PublicationProperties()
        properties.contentType =
            switch format {
            case .harebell, .gorush: Self.contentType
            case .cloudevents: ResultEvent.contentType
            case .xorc: XorcResult.contentType
            }
        properties.type = Self.type
        properties.correlationID = delivery.correlationID ?? delivery.messageID
        var messageID: [UInt8] = []
        if let id {
            messageID.reserveCapacity(40)
            id.append(to: &messageID)
            if let position {
                messageID.append(UInt8(ascii: "-"))
                messageID.append(decimal: position)
            }
            properties.messageID = messageID[...]
        }
        properties.headers = Self.headers(report, traced: delivery)
        if format == .gorush {
            let feedback = GorushFeedback(report, notification, position: position ?? 0, of: delivery)
            return EncodedResult(body: feedback.json, properties: properties)
        }
        if format == .xorc {
            return EncodedResult(body: XorcResult.bytes(report, of: delivery), properties: properties)
        }
        let body = Self.body(
            report, id: messageID.prefix(36), notification: notification, topic: topic ?? notification?.topic,
            environment: environment ?? notification?.environment, messageID: delivery.messageID)
        guard format == .cloudevents else { return EncodedResult(body: body, properties: properties) }
        return EncodedResult(body: ResultEvent.json(around: body, id: messageID[...]), properties: properties)
    }

    private static func body(
        _ report: Report, id: ArraySlice<UInt8>, notification: Notification?, topic: ArraySlice<UInt8>?,
        environment: Environment?, messageID: ArraySlice<UInt8>?
    ) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(512)
        json.append("{\"apns-id\":")
        append(id.isEmpty ? nil : id, to: &json)
        json.append(",\"device-token\":")
        switch notification?.target {
        case .device(let token): append(token.hex, to: &json)
        case .channel(let channel):
            json.append("null,\"apns-channel-id\":")
            append(channel, to: &json)
        case .management(let operation):
            json.append("null,\"apns-channel-id\":")
            append(report.channel?.channelID ?? operation.channelID, to: &json)
        case .none: json.append("null")
        }
        json.append(",\"apns-topic\":")
        append(topic, to: &json)
        json.append(",\"environment\":")
        switch environment {
        case .production: json.append("\"production\"")
        case .development: json.append("\"development\"")
        case .none: json.append("null")
        }
        json.append(contentsOf: report.isCommon ? commonAnswer : answer(report))
        json.append(",\"attempts\":")
        json.append(decimal: report.attempts)
        json.append(",\"processed\":\"")
        json.append(report.processed.name)
        json.append("\",\"message-id\":")
        append(messageID, to: &json)
        json.append(",\"detail\":")
        append(report.detail, to: &json)
        if case .management(let operation) = notification?.target { append(operation, report.channel, to: &json) }
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// What became of it, and what APNs said.
    private static func answer(_ report: Report) -> [UInt8] {
        var json: [UInt8] = []
        json.append(",\"outcome\":\"")
        json.append(report.outcome.name)
        json.append("\",\"status\":")
        append(report.status, to: &json)
        json.append(",\"reason\":")
        append(report.reason?.rawValue, to: &json)
        json.append(",\"action\":\"")
        json.append(report.outcome.action)
        json.append("\",\"timestamp\":")
        append(report.timestamp, to: &json)
        json.append(",\"apns-unique-id\":")
        append(report.uniqueID.map { $0[...] }, to: &json)
        return json
    }

    /// What became of a request about channels.
    private static func append(_ operation: ChannelOperation, _ channel: ChannelReport?, to json: inout [UInt8]) {
        json.append(",\"channel\":{\"operation\":\"")
        json.append(operation.name)
        json.append("\",\"apns-channel-id\":")
        append(channel?.channelID ?? operation.channelID, to: &json)
        json.append(",\"message-storage-policy\":")
        append(json: channel?.storagePolicy, to: &json)
        json.append(",\"channels\":")
        append(json: channel?.channels, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    private static func append(json text: ArraySlice<UInt8>?, to json: inout [UInt8]) {
        if let text { json.append(contentsOf: text) } else { json.append("null") }
    }

    private static func append(_ text: ArraySlice<UInt8>?, to json: inout [UInt8]) {
        if let text { json.appendJSON(string: text) } else { json.append("null") }
    }

    private static func append(_ text: String?, to json: inout [UInt8]) {
        if let text { json.appendJSON(string: ArraySlice(text.utf8)) } else { json.append("null") }
    }

    private static func append(_ number: (some FixedWidthInteger)?, to json: inout [UInt8]) {
        if let number { json.append(decimal: Int(number)) } else { json.append("null") }
    }

    private static func headers(_ report: Report, traced delivery: Delivery) -> ArraySlice<UInt8> {
        var table = report.isCommon ? commonHeaders : headers(report)
        delivery.forEachHeader(named: { TraceHeader($0) }) { header, value in
            guard case .text(let text) = value, text.count <= TraceHeader.maximumLength else { return }
            HeaderBytes.append(header.name, text: text, to: &table)
        }
        return table[...]
    }

    private static func headers(_ report: Report) -> [UInt8] {
        var table: [UInt8] = []
        HeaderBytes.append("harebell-outcome", text: report.outcome.name.description.utf8, to: &table)
        if let status = report.status { HeaderBytes.append("harebell-status", integer: Int32(status), to: &table) }
        if let reason = report.reason { HeaderBytes.append("harebell-reason", text: reason.rawValue.utf8, to: &table) }
        return table
    }
}

extension Report {
    /// Whether APNs accepted it and had nothing more to say.
    fileprivate var isCommon: Bool {
        outcome == .accepted && status == 200 && reason == nil && timestamp == nil && uniqueID == nil
    }
}

/// A header that follows a request into everything that comes of it.
///
/// Sources: W3C Trace Context; W3C Baggage.
enum TraceHeader: CaseIterable {
    case traceparent, tracestate, baggage

    /// In bytes: what W3C Baggage, section 3.3.2, has everyone pass on; the other two are shorter by far. A longer one
    /// is left out, lest it keep a result from fitting into a frame.
    static let maximumLength = 8192

    init?(_ name: Span<UInt8>) {
        for header in Self.allCases where name.equals(header.name) {
            self = header
            return
        }
        return nil
    }

    var name: StaticString {
        switch self {
        case .traceparent: "traceparent"
        case .tracestate: "tracestate"
        case .baggage: "baggage"
        }
    }
}
