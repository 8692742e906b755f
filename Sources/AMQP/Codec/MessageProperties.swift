import CRabbitMQ
import Core

/// All properties of a `basic` message. Publishing fails for strings longer than 255 bytes.
///
/// Source: AMQP 0-9-1, section 4.2.6.1 (property flags) and class `basic`.
package struct MessageProperties: Sendable, Equatable {
    package var contentType: [UInt8]?
    package var contentEncoding: [UInt8]?
    package var headers: FieldTable?
    /// 2 is persistent.
    package var deliveryMode: UInt8?
    package var priority: UInt8?
    package var correlationID: [UInt8]?
    package var replyTo: [UInt8]?
    /// Milliseconds as decimal digits. For anything else the broker closes the channel of a publish.
    package var expiration: [UInt8]?
    package var messageID: [UInt8]?
    /// Seconds since 1970 UTC.
    package var timestamp: UInt64?
    package var type: [UInt8]?
    /// For a user other than the connection's, the broker closes the channel of a publish.
    package var userID: [UInt8]?
    package var appID: [UInt8]?
    package var clusterID: [UInt8]?

    package init() {}

    /// Reads property flags and values, as in `Delivery.rawProperties`.
    ///
    /// Throws when they are malformed, or a header is nested too deeply.
    package init(decoding raw: ArraySlice<UInt8>) throws(AMQPError) {
        guard !raw.isEmpty else { return }
        var pool = LibraryPool()
        self = try unsafe raw.withUnsafeBufferPointer { (buffer) throws(AMQPError) in
            let bytes = unsafe amqp_bytes_t(
                len: buffer.count, bytes: UnsafeMutableRawPointer(mutating: buffer.baseAddress))
            var decoded: UnsafeMutableRawPointer?
            let status = unsafe amqp_decode_properties(UInt16(AMQP_BASIC_CLASS), &pool.raw, bytes, &decoded)
            guard status == 0 else {
                let text = unsafe String(cString: amqp_error_string2(status))
                throw AMQPError(.badTable, "properties are not well formed: \(text)", isTransient: false)
            }
            return try unsafe MessageProperties(decoded!.load(as: amqp_basic_properties_t.self))
        }
    }

    private init(_ decoded: amqp_basic_properties_t) throws(AMQPError) {
        let flags = unsafe PropertyFlags(rawValue: UInt16(truncatingIfNeeded: decoded._flags))
        func text(_ flag: PropertyFlags, _ bytes: amqp_bytes_t) -> [UInt8]? {
            flags.contains(flag) ? unsafe Array(bytes.buffer) : nil
        }
        contentType = unsafe text(.contentType, decoded.content_type)
        contentEncoding = unsafe text(.contentEncoding, decoded.content_encoding)
        if flags.contains(.headers) { headers = try unsafe FieldTable(decoded.headers, depth: 1) }
        if flags.contains(.deliveryMode) { deliveryMode = unsafe decoded.delivery_mode }
        if flags.contains(.priority) { priority = unsafe decoded.priority }
        correlationID = unsafe text(.correlationID, decoded.correlation_id)
        replyTo = unsafe text(.replyTo, decoded.reply_to)
        expiration = unsafe text(.expiration, decoded.expiration)
        messageID = unsafe text(.messageID, decoded.message_id)
        if flags.contains(.timestamp) { timestamp = unsafe decoded.timestamp }
        type = unsafe text(.type, decoded.type)
        userID = unsafe text(.userID, decoded.user_id)
        appID = unsafe text(.appID, decoded.app_id)
        clusterID = unsafe text(.clusterID, decoded.cluster_id)
    }

    /// Encodes property flags and values. Throws when a string is longer than 255 bytes.
    package func encoded() throws(AMQPError) -> [UInt8] {
        let encoded = EncodedProperties(self)
        try encoded.check()
        return Array(encoded.bytes)
    }
}

/// The properties that are present, in wire order.
package struct PropertyFlags: OptionSet {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let contentType = Self(rawValue: 1 << 15)
    package static let contentEncoding = Self(rawValue: 1 << 14)
    package static let headers = Self(rawValue: 1 << 13)
    package static let deliveryMode = Self(rawValue: 1 << 12)
    package static let priority = Self(rawValue: 1 << 11)
    package static let correlationID = Self(rawValue: 1 << 10)
    package static let replyTo = Self(rawValue: 1 << 9)
    package static let expiration = Self(rawValue: 1 << 8)
    package static let messageID = Self(rawValue: 1 << 7)
    package static let timestamp = Self(rawValue: 1 << 6)
    package static let type = Self(rawValue: 1 << 5)
    package static let userID = Self(rawValue: 1 << 4)
    package static let appID = Self(rawValue: 1 << 3)
    package static let clusterID = Self(rawValue: 1 << 2)
}

/// AMQP's short strings: a length byte, then at most 255 bytes.
enum ShortString {
    static let maximumLength = 255

    @inline(__always)
    static func check(_ text: ArraySlice<UInt8>, _ what: StaticString) throws(AMQPError) {
        guard text.count > maximumLength else { return }
        throw tooLong(what)
    }

    static func tooLong(_ what: StaticString) -> AMQPError {
        AMQPError(
            .shortStringTooLong, "the \(what) is longer than the \(maximumLength) bytes that AMQP allows",
            isTransient: false)
    }
}
