package import AMQP
package import Configuration
package import Core
import Decoding

/// An encoded result, for one or several destinations.
package struct EncodedResult: Sendable {
    package let encodedProperties: EncodedProperties
    /// JSON, in one memory block with the properties.
    package let body: ArraySlice<UInt8>

    /// Persistent and mandatory.
    package func publication(to route: PublishRoute) -> Publication {
        Publication(
            exchange: route.exchange, routingKey: route.routingKey, mandatory: true, properties: encodedProperties,
            body: body)
    }
}

/// A result that is published in one message with others of its request.
struct PartialResult {
    let report: Report
    let id: NotificationID?
    let position: Int?
    /// In the format of its queue.
    let json: ArraySlice<UInt8>
}

/// Encodes results of notifications. All results reuse the same memory.
package final class ResultEncoder {
    private static let contentType = ArraySlice("application/json".utf8)
    private static let type = ArraySlice("harebell.result".utf8)
    /// The headers and the middle of the body that nearly all results share, encoded once.
    private static let common = Report(outcome: .accepted, status: 200)
    private static let commonHeaders = bytes { appendHeaders(common, to: &$0) }
    private static let commonAnswer = bytes { append(answer: common, to: &$0) }

    private static func bytes(_ write: (inout ByteQueue) -> Void) -> [UInt8] {
        var queue = ByteQueue()
        write(&queue)
        return queue.copy()
    }

    private var writer = PropertyWriter()

    package init() {}

    /// - Parameters:
    ///   - id: the notification's `apns-id`; `nil` if it never got one.
    ///   - position: the position in a fan-out; `nil` for a single notification.
    ///   - notification: `nil` for a message that could not be decoded.
    ///   - topic: the value for `apns-topic`; `nil` for the topic in the notification.
    ///   - environment: likewise.
    ///   - delivery: the request.
    ///   - format: of the body; the headers do not depend on it.
    package func encode(
        _ report: Report, id: NotificationID?, position: Int? = nil, notification: Notification?,
        topic: ArraySlice<UInt8>? = nil, environment: Environment? = nil, delivery: Delivery,
        format: Configuration.ResultFormat = .harebell
    ) -> EncodedResult {
        let contentType =
            switch format {
            case .harebell, .gorush: Self.contentType
            case .cloudevents: ResultEvent.contentType
            }
        writer.append(.contentType, contentType)
        writer.appendHeaders {
            if report.isCommon { $0.append(Self.commonHeaders) } else { Self.appendHeaders(report, to: &$0) }
            Self.appendTrace(of: delivery, to: &$0)
        }
        endProperties(of: delivery, id: id, position: position)
        switch format {
        case .harebell:
            Self.append(
                report, id: id, notification: notification, topic: topic, environment: environment,
                messageID: delivery.messageID, to: &writer.content)
        case .cloudevents:
            let json = Self.bytes {
                Self.append(
                    report, id: id, notification: notification, topic: topic, environment: environment,
                    messageID: delivery.messageID, to: &$0)
            }
            var name: [UInt8] = []
            if let id {
                id.append(to: &name)
                name += position.map(Self.suffix) ?? []
            }
            writer.content.append(ResultEvent.json(around: json, id: name[...]))
        case .gorush:
            writer.content.append(GorushFeedback(report, notification, position: position ?? 0, of: delivery).json)
        }
        let (properties, body) = writer.finish()
        return EncodedResult(encodedProperties: properties, body: body)
    }

    /// All properties except content type and headers.
    private func endProperties(of delivery: Delivery, id: NotificationID?, position: Int?) {
        writer.appendPersistent()
        writer.append(.correlationID, delivery.correlationID ?? delivery.messageID)
        if let id {
            let suffix = position.map(Self.suffix) ?? []
            writer.append(.messageID, NotificationID.textLength + suffix.count) {
                id.append(to: &$0)
                $0.append(suffix)
            }
        }
        writer.append(.type, Self.type)
        writer.endProperties()
    }

    /// Encodes several results of one request as an array. The message id is that of the first; the headers contain the
    /// common values, and `mixed` if the outcomes differ.
    func encode(
        _ results: [PartialResult], of delivery: Delivery, format: Configuration.ResultFormat
    ) -> EncodedResult {
        let first = results[0]
        writer.append(.contentType, format == .cloudevents ? ResultEvent.batchContentType : Self.contentType)
        writer.appendHeaders {
            let status = results.allSatisfy { $0.report.status == first.report.status } ? first.report.status : nil
            let reason = results.allSatisfy { $0.report.reason == first.report.reason } ? first.report.reason : nil
            let isMixed = results.contains { $0.report.outcome != first.report.outcome }
            Self.appendHeaders(isMixed ? "mixed" : first.report.outcome.name, status, reason, to: &$0)
            HeaderBytes.append("harebell-results", integer: Int32(results.count), to: &$0)
            Self.appendTrace(of: delivery, to: &$0)
        }
        endProperties(of: delivery, id: first.id, position: first.position)
        for (index, result) in results.enumerated() {
            writer.content.append(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
            writer.content.append(result.json)
        }
        writer.content.append(UInt8(ascii: "]"))
        let (properties, body) = writer.finish()
        return EncodedResult(encodedProperties: properties, body: body)
    }

    /// Distinguishes the results of a fan-out.
    private static func suffix(_ position: Int) -> [UInt8] {
        var suffix = [UInt8(ascii: "-")]
        suffix.append(decimal: position)
        return suffix
    }

    private static func append(
        _ report: Report, id: NotificationID?, notification: Notification?, topic: ArraySlice<UInt8>?,
        environment: Environment?, messageID: ArraySlice<UInt8>?, to json: inout ByteQueue
    ) {
        json.append("{\"apns-id\":")
        if let id {
            json.append(UInt8(ascii: "\""))
            id.append(to: &json)
            json.append("\",\"device-token\":")
        } else {
            json.append("null,\"device-token\":")
        }
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
        append(topic ?? notification?.topic, to: &json)
        json.append(",\"environment\":")
        switch environment ?? notification?.environment {
        case .production: json.append("\"production\"")
        case .development: json.append("\"development\"")
        case .none: json.append("null")
        }
        if report.isCommon { json.append(commonAnswer) } else { append(answer: report, to: &json) }
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
    }

    /// The outcome and the response of APNs.
    private static func append(answer report: Report, to json: inout ByteQueue) {
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
    }

    /// The result of a channel management request.
    private static func append(_ operation: ChannelOperation, _ channel: ChannelReport?, to json: inout ByteQueue) {
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

    private static func append(json text: ArraySlice<UInt8>?, to json: inout ByteQueue) {
        if let text { json.append(text) } else { json.append("null") }
    }

    private static func append(_ text: ArraySlice<UInt8>?, to json: inout ByteQueue) {
        if let text { json.appendJSON(string: text) } else { json.append("null") }
    }

    private static func append(_ text: String?, to json: inout ByteQueue) {
        if let text { json.appendJSON(string: ArraySlice(text.utf8)) } else { json.append("null") }
    }

    private static func append(_ number: (some FixedWidthInteger)?, to json: inout ByteQueue) {
        if let number { json.append(decimal: Int(number)) } else { json.append("null") }
    }

    private static func appendTrace(of delivery: Delivery, to table: inout ByteQueue) {
        delivery.forEachHeader(named: { TraceHeader($0) }) { header, value in
            guard case .text(let text) = value, text.count <= TraceHeader.maximumLength else { return }
            HeaderBytes.append(header.name, text: text, to: &table)
        }
    }

    private static func appendHeaders(_ report: Report, to table: inout ByteQueue) {
        appendHeaders(report.outcome.name, report.status, report.reason, to: &table)
    }

    private static func appendHeaders(
        _ outcome: StaticString, _ status: UInt16?, _ reason: RejectionReason?, to table: inout ByteQueue
    ) {
        HeaderBytes.append("harebell-outcome", text: outcome, to: &table)
        if let status { HeaderBytes.append("harebell-status", integer: Int32(status), to: &table) }
        if let reason {
            HeaderBytes.append("harebell-reason", text: ArraySlice(reason.rawValue.utf8), to: &table)
        }
    }
}

extension Report {
    /// Whether APNs accepted it without further data.
    fileprivate var isCommon: Bool {
        outcome == .accepted && status == 200 && reason == nil && timestamp == nil && uniqueID == nil
    }
}

/// A header that is copied from a request into all messages about it.
///
/// Sources: W3C Trace Context; W3C Baggage.
enum TraceHeader: CaseIterable {
    case traceparent, tracestate, baggage

    /// In bytes: the length that W3C Baggage, section 3.3.2, requires everyone to propagate; the others are far
    /// shorter. Longer values are omitted, because a result has to fit into a frame.
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
