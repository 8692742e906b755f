import CRabbitMQ
import Core

/// Puts one message together from its frames: a method, a content header, and as many body frames as it needs.
///
/// A message is one block of memory: exchange, routing key, properties, body. The block is made when the content header
/// tells the sizes; a body that is too large is counted and skipped. Source: AMQP 0-9-1, section 4.2.6.
struct ContentAssembly {
    /// What the message came with.
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

    /// A message that is complete.
    struct Content {
        var origin: Origin
        var storage: [UInt8]
        var layout: Delivery.Layout
        var headers: [Delivery.Header]
        var timestamp: UInt64?
        /// The size of a body that was skipped.
        var oversizeBody: UInt64?
    }

    private let maximumBody: UInt64
    private var progress = Progress.idle
    private var origin = Origin.returned(code: 0, text: "")
    /// Exchange and routing key until the header comes.
    private var address: [UInt8] = []
    private var exchangeSize = 0
    private var storage: [UInt8] = []
    private var layout = Delivery.Layout()
    private var headers: [Delivery.Header] = []
    private var timestamp: UInt64?
    private var missing: UInt64 = 0
    private var oversizeBody: UInt64?

    init(maximumBody: Int) {
        self.maximumBody = UInt64(maximumBody)
        address.reserveCapacity(2 * ShortString.maximumLength)
    }

    var isIdle: Bool { progress == .idle }

    /// A method that announces content; false when other content is not complete yet.
    mutating func begin(_ origin: Origin, exchange: amqp_bytes_t, routingKey: amqp_bytes_t) -> Bool {
        guard progress == .idle else { return false }
        self.origin = origin
        address.removeAll(keepingCapacity: true)
        unsafe address.append(contentsOf: exchange.buffer)
        exchangeSize = address.count
        unsafe address.append(contentsOf: routingKey.buffer)
        progress = .awaitingHeader
        return true
    }

    /// The content header; false when it does not belong here.
    mutating func headerReceived(_ frame: amqp_frame_t) -> Bool {
        let properties = unsafe frame.payload.properties
        guard progress == .awaitingHeader, unsafe Int32(properties.class_id) == AMQP_BASIC_CLASS else { return false }
        let raw = unsafe properties.raw.buffer
        missing = unsafe properties.body_size
        oversizeBody = missing > maximumBody ? missing : nil
        let bodySize = oversizeBody == nil ? Int(missing) : 0
        let rawStart = address.count
        let bodyStart = rawStart + raw.count

        storage = []
        storage.reserveCapacity(bodyStart + bodySize)
        storage.append(contentsOf: address)
        unsafe storage.append(contentsOf: raw)
        layout = Delivery.Layout()
        layout.exchange = Delivery.Field(0..<exchangeSize)
        layout.routingKey = Delivery.Field(exchangeSize..<rawStart)
        layout.rawProperties = Delivery.Field(rawStart..<bodyStart)
        layout.body = Delivery.Field(bodyStart..<bodyStart + bodySize)
        headers = []
        timestamp = nil
        if let decoded = unsafe properties.decoded?.assumingMemoryBound(to: amqp_basic_properties_t.self) {
            let places = unsafe Places(raw: raw, start: rawStart)
            unsafe locate(decoded, places)
        }
        progress = missing == 0 ? .complete : .awaitingBody
        return true
    }

    /// A part of the body; false when there is more than the header said.
    mutating func bodyReceived(_ fragment: amqp_bytes_t) -> Bool {
        let bytes = unsafe fragment.buffer
        guard progress == .awaitingBody, UInt64(bytes.count) <= missing else { return false }
        missing -= UInt64(bytes.count)
        if oversizeBody == nil { unsafe storage.append(contentsOf: bytes) }
        if missing == 0 { progress = .complete }
        return true
    }

    /// The message, once it is complete.
    mutating func takeComplete() -> Content? {
        guard progress == .complete else { return nil }
        progress = .idle
        let content = Content(
            origin: origin, storage: storage, layout: layout, headers: headers, timestamp: timestamp,
            oversizeBody: oversizeBody)
        storage = []
        headers = []
        return content
    }

    /// Turns the parser's pointers, which point into the raw properties, into places in the block.
    private struct Places {
        private let base: UInt
        private let start: Int

        @unsafe
        init(raw: UnsafeBufferPointer<UInt8>, start: Int) {
            base = UInt(bitPattern: raw.baseAddress)
            self.start = start
        }

        @inline(__always)
        func field(_ bytes: amqp_bytes_t) -> Delivery.Field {
            guard unsafe bytes.len > 0 else { return Delivery.Field(start..<start) }
            let lower = unsafe start + Int(UInt(bitPattern: bytes.bytes) - base)
            return unsafe Delivery.Field(lower..<lower + bytes.len)
        }
    }

    @inline(__always)
    private mutating func locate(_ properties: UnsafePointer<amqp_basic_properties_t>, _ places: Places) {
        let flags = unsafe PropertyFlags(rawValue: UInt16(truncatingIfNeeded: properties.pointee._flags))
        if flags.contains(.contentType) { unsafe layout.contentType = places.field(properties.pointee.content_type) }
        if flags.contains(.contentEncoding) {
            unsafe layout.contentEncoding = places.field(properties.pointee.content_encoding)
        }
        if flags.contains(.correlationID) {
            unsafe layout.correlationID = places.field(properties.pointee.correlation_id)
        }
        if flags.contains(.replyTo) { unsafe layout.replyTo = places.field(properties.pointee.reply_to) }
        if flags.contains(.expiration) { unsafe layout.expiration = places.field(properties.pointee.expiration) }
        if flags.contains(.messageID) { unsafe layout.messageID = places.field(properties.pointee.message_id) }
        if flags.contains(.priority) { unsafe layout.priority = properties.pointee.priority }
        if flags.contains(.timestamp) { unsafe timestamp = properties.pointee.timestamp }
        if flags.contains(.type) { unsafe layout.type = places.field(properties.pointee.type) }
        if flags.contains(.appID) { unsafe layout.appID = places.field(properties.pointee.app_id) }
        if flags.contains(.headers) { unsafe locate(properties.pointee.headers, places) }
    }

    private mutating func locate(_ table: amqp_table_t, _ places: Places) {
        let count = unsafe Int(table.num_entries)
        guard count > 0 else { return }
        headers.reserveCapacity(count)
        for index in 0..<count {
            let name = unsafe places.field(table.entries[index].key)
            let value = unsafe table.entries[index].value
            let header: Delivery.Header =
                switch unsafe Unicode.Scalar(value.kind) {
                case "S", "x": unsafe .text(name, places.field(value.value.bytes))
                case "t": unsafe .boolean(name, value.value.boolean != 0)
                case "b": unsafe .integer(name, Int64(value.value.i8))
                case "B": unsafe .integer(name, Int64(value.value.u8))
                case "s": unsafe .integer(name, Int64(value.value.i16))
                case "u": unsafe .integer(name, Int64(value.value.u16))
                case "I": unsafe .integer(name, Int64(value.value.i32))
                case "i": unsafe .integer(name, Int64(value.value.u32))
                case "l": unsafe .integer(name, value.value.i64)
                case "L", "T": unsafe .integer(name, Int64(clamping: value.value.u64))
                case "f": unsafe .number(name, Double(value.value.f32))
                case "d": unsafe .number(name, value.value.f64)
                default: .other(name)
                }
            headers.append(header)
        }
    }
}
