import CRabbitMQ
import Core

/// Assembles one message from its frames: a method, a content header, and any number of body frames.
///
/// A message is one block of memory: exchange, routing key, properties, body. The block is allocated when the content
/// header gives the sizes. A body that is too large is counted and skipped. Source: AMQP 0-9-1, section 4.2.6.
struct ContentAssembly {
    /// The method that introduced the content.
    enum Origin {
        case delivery(tag: UInt64, redelivered: Bool)
        case got(tag: UInt64, redelivered: Bool, remaining: UInt32)
        case returned(code: UInt16, text: String)
    }

    private enum Progress {
        case idle
        case awaitingHeader
        case awaitingBody
        case complete
    }

    struct Content {
        var origin = Origin.returned(code: 0, text: "")
        var storage: [UInt8] = []
        var layout = Delivery.Layout()
        var headers: [Delivery.Header] = []
        var timestamp: UInt64?
    }

    private let maximumBody: UInt64
    private var progress = Progress.idle
    private var content = Content()
    /// Exchange and routing key, until the header arrives.
    private var address: [UInt8] = []
    private var exchangeSize = 0
    private var missing: UInt64 = 0

    init(maximumBody: Int) {
        self.maximumBody = UInt64(maximumBody)
        address.reserveCapacity(2 * ShortString.maximumLength)
    }

    var isIdle: Bool { progress == .idle }
    var isComplete: Bool { progress == .complete }

    /// Starts a message. Call it only while ``isIdle``.
    mutating func begin(_ origin: Origin, exchange: amqp_bytes_t, routingKey: amqp_bytes_t) {
        content.origin = origin
        address.removeAll(keepingCapacity: true)
        unsafe address.append(contentsOf: exchange.buffer)
        exchangeSize = address.count
        unsafe address.append(contentsOf: routingKey.buffer)
        progress = .awaitingHeader
    }

    /// Takes the content header.
    ///
    /// - Returns: `false` when it is not expected here, or is malformed.
    mutating func headerReceived(classID: UInt16, bodySize: UInt64, properties raw: UnsafeBufferPointer<UInt8>) -> Bool
    {
        guard progress == .awaitingHeader, Int32(classID) == AMQP_BASIC_CLASS else { return false }
        missing = bodySize
        content.layout.oversizeBody = missing > maximumBody ? missing : nil
        let bodySize = content.layout.oversizeBody == nil ? Int(missing) : 0
        let rawStart = address.count
        let bodyStart = rawStart + raw.count

        content.storage.reserveCapacity(bodyStart + bodySize)
        content.storage.append(contentsOf: address)
        unsafe content.storage.append(contentsOf: raw)
        content.layout.exchange = Delivery.Field(0..<exchangeSize)
        content.layout.routingKey = Delivery.Field(exchangeSize..<rawStart)
        content.layout.rawProperties = Delivery.Field(rawStart..<bodyStart)
        content.layout.body = Delivery.Field(bodyStart..<bodyStart + bodySize)
        do { try locate(rawStart..<bodyStart) } catch { return false }
        progress = missing == 0 ? .complete : .awaitingBody
        return true
    }

    /// Takes a part of the body. Returns false when the body exceeds the size in the header.
    mutating func bodyReceived(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard progress == .awaitingBody, UInt64(bytes.count) <= missing else { return false }
        missing -= UInt64(bytes.count)
        if content.layout.oversizeBody == nil { unsafe content.storage.append(contentsOf: bytes) }
        if missing == 0 { progress = .complete }
        return true
    }

    /// Returns the message. Call it only while ``isComplete``.
    mutating func take() -> Content {
        progress = .idle
        var complete = Content()
        swap(&complete, &content)
        return complete
    }

    private mutating func locate(_ place: Range<Int>) throws(PropertyReader.Malformed) {
        var reader = PropertyReader(content.storage, place)
        let flags = try reader.flags()
        if flags.contains(.contentType) { content.layout.contentType = try reader.shortString() }
        if flags.contains(.contentEncoding) { content.layout.contentEncoding = try reader.shortString() }
        if flags.contains(.headers) { content.headers = try reader.headers() }
        if flags.contains(.deliveryMode) { _ = try reader.number() as UInt8 }
        if flags.contains(.priority) { content.layout.priority = try reader.number() }
        if flags.contains(.correlationID) { content.layout.correlationID = try reader.shortString() }
        if flags.contains(.replyTo) { content.layout.replyTo = try reader.shortString() }
        if flags.contains(.expiration) { content.layout.expiration = try reader.shortString() }
        if flags.contains(.messageID) { content.layout.messageID = try reader.shortString() }
        if flags.contains(.timestamp) { content.timestamp = try reader.number() }
        if flags.contains(.type) { content.layout.type = try reader.shortString() }
        if flags.contains(.userID) { _ = try reader.shortString() }
        if flags.contains(.appID) { content.layout.appID = try reader.shortString() }
    }
}
