package import AMQP
import Core
import Decoding

/// A result that is published, or waits for the others of its request.
struct ResultNote {
    let report: Report
    let id: NotificationID?
    /// The position in a fan-out; `nil` for a single notification, and for several.
    var position: Int?
    /// The number of notifications that do not require a dead letter unless this result reaches no queue.
    var unfailed: Int
    /// The body of a result that waits.
    var json: ArraySlice<UInt8> = []
}

/// Encodes results of notifications. All results reuse the same memory.
package struct ResultEncoder: ~Copyable {
    private static let contentType = ArraySlice("application/json".utf8)
    private static let type = ArraySlice("harebell.result".utf8)
    /// The headers and the middle of the body that nearly all results share, encoded once.
    private static let common = Report(outcome: .accepted, status: 200)
    private static let commonHeaders = bytes { appendHeaders(common.outcome.name, common.status, nil, to: &$0) }
    private static let commonResult = bytes { append(common, to: &$0) }

    private static func bytes(_ write: (inout ByteQueue) -> Void) -> [UInt8] {
        var queue = ByteQueue()
        write(&queue)
        return queue.copy()
    }

    private var writer = PropertyWriter()
    private var scratch = ByteQueue(minimumCapacity: 1024)

    package init() {}

    /// The result of a notification that ended: persistent and mandatory.
    package mutating func encode(_ end: borrowing Conclusion, to route: PublishRoute) -> Publication {
        if let shared = end.shared, end.report.isCommon {
            if let known = shared.properties {
                writer.append(known)
            } else {
                beginProperties(end)
                shared.properties = writer.beginning
            }
        } else {
            beginProperties(end)
        }
        endProperties(id: end.id, position: end.position)
        Self.append(end, to: &writer.content)
        return finish(route)
    }

    /// The body alone, for one message with several results.
    mutating func body(of end: borrowing Conclusion) -> ArraySlice<UInt8> {
        scratch.removeAll()
        Self.append(end, to: &scratch)
        return scratch.copy()[...]
    }

    private mutating func finish(_ route: PublishRoute) -> Publication {
        let (properties, body) = writer.finish()
        return Publication(exchange: route.exchange, routingKey: route.routingKey, properties: properties, body: body)
    }

    /// The properties before the message id.
    private mutating func beginProperties(_ end: borrowing Conclusion) {
        let report = end.report
        beginProperties(of: end.request.delivery) {
            if report.isCommon {
                $0.append(Self.commonHeaders)
            } else {
                Self.appendHeaders(report.outcome.name, report.status, report.reason, to: &$0)
            }
        }
    }

    private mutating func beginProperties(of delivery: Delivery, headers: (inout ByteQueue) -> Void) {
        writer.append(.contentType, Self.contentType)
        writer.appendHeaders {
            headers(&$0)
            Self.appendTrace(of: delivery, to: &$0)
        }
        writer.appendPersistent()
        writer.append(.correlationID, Self.filled(delivery.correlationID) ?? Self.filled(delivery.messageID))
    }

    /// Some clients write a property that has no value.
    private static func filled(_ id: ArraySlice<UInt8>?) -> ArraySlice<UInt8>? { id?.isEmpty == false ? id : nil }

    private mutating func endProperties(id: NotificationID?, position: Int?) {
        if let id {
            let suffix = position.map { 1 + $0.decimalDigits } ?? 0
            writer.append(.messageID, NotificationID.textLength + suffix) { Self.append(id, position, to: &$0) }
        }
        writer.append(.type, Self.type)
        writer.endProperties()
    }

    /// With the position in a fan-out, which distinguishes its results.
    private static func append(_ id: NotificationID, _ position: Int?, to text: inout ByteQueue) {
        id.append(to: &text)
        guard let position else { return }
        text.append(UInt8(ascii: "-"))
        text.append(decimal: position)
    }

    /// Encodes several results of one request as an array. The message id is that of the first; the headers contain the
    /// common values, and `mixed` if the outcomes differ.
    mutating func encode(_ results: [ResultNote], of delivery: Delivery, to route: PublishRoute) -> Publication {
        let first = results[0]
        beginProperties(of: delivery) {
            // By index, because a copy of each result would cost more than the comparison.
            let all = results.indices
            let status = all.allSatisfy { results[$0].report.status == first.report.status } ? first.report.status : nil
            let reason = all.allSatisfy { results[$0].report.reason == first.report.reason } ? first.report.reason : nil
            let isMixed = all.contains { results[$0].report.outcome != first.report.outcome }
            Self.appendHeaders(isMixed ? "mixed" : first.report.outcome.name, status, reason, to: &$0)
            HeaderBytes.append("harebell-results", integer: Int32(results.count), to: &$0)
        }
        endProperties(id: first.id, position: first.position)
        for index in results.indices {
            writer.content.append(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
            writer.content.append(results[index].json)
        }
        writer.content.append(UInt8(ascii: "]"))
        return finish(route)
    }

    private static func append(_ end: borrowing Conclusion, to json: inout ByteQueue) {
        json.append("{\"apns-id\":")
        if let id = end.id {
            json.append(UInt8(ascii: "\""))
            id.append(to: &json)
            json.append("\",\"device-token\":")
        } else {
            json.append("null,\"device-token\":")
        }
        switch end.target {
        case .device(let token):
            json.append(UInt8(ascii: "\""))
            json.append(token.hex)
            json.append(UInt8(ascii: "\""))
            if let shared = end.shared { return appendRest(end, shared, to: &json) }
        case .channel(let channel):
            json.append("null,\"apns-channel-id\":")
            append(channel, to: &json)
        case .management(let operation):
            json.append("null,\"apns-channel-id\":")
            append(end.report.channel?.channelID ?? operation.channelID, to: &json)
            return appendRest(end, operation, to: &json)
        case .none: json.append("null")
        }
        appendRest(end, to: &json)
    }

    /// The members after the recipient, which most results of a fan-out share.
    private static func appendRest(_ end: borrowing Conclusion, _ shared: SharedResult, to json: inout ByteQueue) {
        guard end.report.isCommon, end.report.detail == nil else { return appendRest(end, to: &json) }
        let key: SharedResult.Key = (end.topic, end.environment, end.report.attempts, end.report.processed)
        if let known = shared.rest, known.key == key { return json.append(known.json) }
        let rest = bytes { appendRest(end, to: &$0) }
        shared.rest = (key, rest)
        json.append(rest)
    }

    private static func appendRest(
        _ end: borrowing Conclusion, _ operation: ChannelOperation? = nil, to json: inout ByteQueue
    ) {
        json.append(",\"apns-topic\":")
        append(end.topic, to: &json)
        json.append(",\"environment\":")
        switch end.environment {
        case .production: json.append("\"production\"")
        case .development: json.append("\"development\"")
        case .none: json.append("null")
        }
        if end.report.isCommon { json.append(commonResult) } else { append(end.report, to: &json) }
        json.append(",\"attempts\":")
        json.append(decimal: end.report.attempts)
        json.append(",\"processed\":\"")
        json.append(end.report.processed.name)
        json.append("\",\"message-id\":")
        append(Self.filled(end.request.delivery.messageID), to: &json)
        json.append(",\"detail\":")
        append(end.report.detail.map { ArraySlice($0.utf8) }, to: &json)
        if let operation { append(operation, end.report.channel, to: &json) }
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ report: Report, to json: inout ByteQueue) {
        json.append(",\"outcome\":\"")
        json.append(report.outcome.name)
        json.append("\",\"status\":")
        append(report.status, to: &json)
        json.append(",\"reason\":")
        append(report.reason.map { ArraySlice($0.rawValue.utf8) }, to: &json)
        json.append(",\"action\":\"")
        json.append(report.outcome.action)
        json.append("\",\"timestamp\":")
        append(report.timestamp, to: &json)
        json.append(",\"apns-unique-id\":")
        append(report.uniqueID.map { $0[...] }, to: &json)
    }

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

    private static func append(_ number: (some FixedWidthInteger)?, to json: inout ByteQueue) {
        if let number { json.append(decimal: Int(number)) } else { json.append("null") }
    }

    private static func appendTrace(of delivery: Delivery, to table: inout ByteQueue) {
        delivery.forEachHeader(named: { traceHeader($0) }) { name, value in
            guard case .text(let text) = value, text.count <= maximumTraceHeader else { return }
            HeaderBytes.append(name, text: text, to: &table)
        }
    }

    /// In bytes: the length that W3C Baggage, section 3.3.2, requires everyone to propagate; the others are far
    /// shorter. Longer values are omitted, because a result has to fit into a frame.
    private static let maximumTraceHeader = 8192

    /// The name of a header that is copied from a request into all messages about it; `nil` for others.
    ///
    /// Sources: W3C Trace Context; W3C Baggage.
    private static func traceHeader(_ name: Span<UInt8>) -> StaticString? {
        if name.equals("traceparent") { return "traceparent" }
        if name.equals("tracestate") { return "tracestate" }
        return name.equals("baggage") ? "baggage" : nil
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

extension Conclusion {
    /// `nil` for a single notification.
    fileprivate var shared: SharedResult? {
        guard position != nil else { return nil }
        let shared = request.sharedResult ?? SharedResult()
        request.sharedResult = shared
        return shared
    }
}

/// What the accepted results of one fan-out have in common, encoded with the first of them.
final class SharedResult {
    /// What ``rest`` depends on.
    typealias Key = (topic: ArraySlice<UInt8>?, environment: Environment?, attempts: Int, processed: Processed)

    /// The properties before the message id.
    var properties: PropertyWriter.Beginning?
    /// The members after the device token.
    var rest: (key: Key, json: [UInt8])?
}
