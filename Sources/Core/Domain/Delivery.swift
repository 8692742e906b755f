/// One message from the broker, in one block of memory.
///
/// Strings are views into that block: reading one copies nothing, keeping one keeps the block in memory. Source: AMQP
/// 0-9-1, `basic.deliver` and the content header's properties.
@usableFromInline
package struct Delivery: Sendable {
    /// The position of a field in the block.
    @usableFromInline
    package struct Field: Sendable {
        @usableFromInline var lower: UInt32
        @usableFromInline var upper: UInt32

        /// A field that the message does not contain.
        package static let absent = Field(lower: .max, upper: .max)

        @inlinable package var range: Range<Int> { Int(lower)..<Int(upper) }

        /// Whether it is absent or has no bytes.
        var isEmpty: Bool { lower == upper }

        init(lower: UInt32, upper: UInt32) {
            self.lower = lower
            self.upper = upper
        }

        @inlinable
        package init(_ range: Range<Int>) {
            lower = UInt32(range.lowerBound)
            upper = UInt32(range.upperBound)
        }
    }

    /// A header's value, in the types that decoders use.
    @usableFromInline
    package enum HeaderValue: Sendable, Equatable {
        /// A long string; RabbitMQ does not validate UTF-8.
        case text(ArraySlice<UInt8>)
        case integer(Int64)
        case number(Double)
        case boolean(Bool)
        /// A table, an array, a decimal or void.
        case other
    }

    @usableFromInline
    package struct Header: Sendable {
        package enum Value: Sendable {
            case text(Field)
            case integer(Int64)
            case number(Double)
            case boolean(Bool)
            /// Its elements as the broker sent them.
            case array(Field)
            case other
        }

        @usableFromInline package let name: Field
        let value: Value

        package init(_ name: Field, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The positions of all fields.
    package struct Layout: Sendable {
        package var exchange = Field.absent
        package var routingKey = Field.absent
        /// The content header's encoded property flags and values.
        package var rawProperties = Field.absent
        package var contentType = Field.absent
        package var contentEncoding = Field.absent
        package var correlationID = Field.absent
        package var replyTo = Field.absent
        package var expiration = Field.absent
        package var messageID = Field.absent
        package var type = Field.absent
        package var appID = Field.absent
        package var body = Field.absent
        /// `priority`, a value rather than a position; 0 if absent.
        package var priority: UInt8 = 0
        /// The size of a body that was skipped because it exceeds the limit, in bytes; `nil` for any other.
        package var oversizeBody: UInt64?

        package init() {}
    }

    /// Incremented for each new connection: a tag is valid only within its epoch.
    package var epoch: UInt32
    /// Our number for this delivery, unique within its queue and epoch.
    package var tag: UInt64
    /// Whether the broker may have delivered it before.
    package var redelivered: Bool
    /// The queue's index in the configuration.
    package var queue: QueueID
    @usableFromInline let content: Content

    /// The content of a delivery. A class, because deliveries are passed around often and are immutable.
    @usableFromInline final class Content: Sendable {
        let timestamp: UInt64?
        @usableFromInline let storage: [UInt8]
        let layout: Layout
        @usableFromInline let headers: [Header]

        init(timestamp: UInt64?, storage: [UInt8], layout: Layout, headers: [Header]) {
            self.timestamp = timestamp
            self.storage = storage
            self.layout = layout
            self.headers = headers
        }
    }

    package init(
        epoch: UInt32, tag: UInt64, redelivered: Bool, queue: QueueID, timestamp: UInt64? = nil, storage: [UInt8],
        layout: Layout, headers: [Header] = []
    ) {
        self.epoch = epoch
        self.tag = tag
        self.redelivered = redelivered
        self.queue = queue
        content = Content(timestamp: timestamp, storage: storage, layout: layout, headers: headers)
    }

    package var headerCount: Int { content.headers.count }
    package var storage: [UInt8] { content.storage }

    private func bytes(_ field: Field) -> ArraySlice<UInt8>? {
        field.lower == .max ? nil : content.storage[field.range]
    }

    /// `timestamp` as the producer set it: seconds since 1970 UTC by AMQP, milliseconds with some clients.
    package var timestamp: UInt64? { content.timestamp }
    /// `timestamp` in seconds since 1970 UTC; the producer's unit is guessed.
    package var timestampInSeconds: UInt64? { timestamp.map { isInMilliseconds ? $0 / 1000 : $0 } }
    /// Seconds reach this number in the year 5138.
    private var isInMilliseconds: Bool { timestamp ?? 0 >= 100_000_000_000 }

    /// When the message was published, by its `timestamp`, of which the unit is guessed.
    ///
    /// - Returns: `nil` for 0 and for a time more than a day after `arrival`, which are mistakes. Also if the message
    ///   would have expired before `arrival`: the broker drops what expires in a queue, so that is not the time.
    package func published(before arrival: WallTime) -> WallTime? {
        guard let timestamp = timestamp.flatMap({ Int64(exactly: $0) }), timestamp > 0 else { return nil }
        let time = WallTime(milliseconds: isInMilliseconds ? timestamp : timestamp * 1000)
        let age = arrival.milliseconds - time.milliseconds
        guard age >= -86_400_000 else { return nil }
        // It may be in whole seconds, rounded down.
        if let lifetime, age - 999 >= lifetime { return nil }
        return time
    }

    /// `expiration` in milliseconds; `nil` unless it is a number of at least 0.
    package var lifetime: Int64? {
        guard let expiration, let lifetime = Int64(String(decoding: expiration, as: UTF8.self)) else { return nil }
        return lifetime >= 0 ? lifetime : nil
    }

    /// `priority`; 0 if absent, as in the broker.
    package var priority: UInt8 { content.layout.priority }

    package var exchange: ArraySlice<UInt8> { bytes(content.layout.exchange) ?? [] }
    package var routingKey: ArraySlice<UInt8> { bytes(content.layout.routingKey) ?? [] }
    package var rawProperties: ArraySlice<UInt8> { bytes(content.layout.rawProperties) ?? [] }
    /// `content_type`, exactly as the producer sent it.
    package var contentType: ArraySlice<UInt8>? { bytes(content.layout.contentType) }
    /// `content_encoding`; `nil` if the body was decompressed.
    package var contentEncoding: ArraySlice<UInt8>? { bytes(content.layout.contentEncoding) }
    package var correlationID: ArraySlice<UInt8>? { bytes(content.layout.correlationID) }
    /// `reply_to`: the queue for the result.
    package var replyTo: ArraySlice<UInt8>? { bytes(content.layout.replyTo) }
    /// The message's time to live in milliseconds, as decimal digits.
    package var expiration: ArraySlice<UInt8>? { bytes(content.layout.expiration) }
    package var messageID: ArraySlice<UInt8>? { bytes(content.layout.messageID) }
    package var type: ArraySlice<UInt8>? { bytes(content.layout.type) }
    package var appID: ArraySlice<UInt8>? { bytes(content.layout.appID) }
    /// The body, at most `broker.max_message_bytes`; empty if it was larger.
    package var body: ArraySlice<UInt8> { bytes(content.layout.body) ?? [] }
    /// The size of a larger body, in bytes.
    package var oversizeBody: UInt64? { content.layout.oversizeBody }

    /// The value of a header; the last one if the name occurs several times. Names are compared byte by byte.
    package func header(_ name: StaticString) -> HeaderValue? {
        let storage = content.storage
        for header in content.headers.reversed() where storage.span.extracting(header.name.range).equals(name) {
            return value(of: header)
        }
        return nil
    }

    /// The value of a header whose name comes from the configuration.
    package func header(named name: some Collection<UInt8>) -> HeaderValue? {
        for header in content.headers.reversed() where bytes(header.name)?.elementsEqual(name) == true {
            return value(of: header)
        }
        return nil
    }

    package func forEachHeader(_ body: (_ name: ArraySlice<UInt8>, _ value: HeaderValue) -> Void) {
        for header in content.headers {
            body(bytes(header.name) ?? [], value(of: header))
        }
    }

    /// Visits the headers with a known name, in the order received; the others are not decoded.
    ///
    /// Inlinable, because a generic function of another module would look up its types at run time for each message.
    @inlinable
    package func forEachHeader<Name>(
        named name: (Span<UInt8>) -> Name?, _ body: (_ name: Name, _ value: HeaderValue) -> Void
    ) {
        let storage = content.storage
        for header in content.headers {
            if let name = name(storage.span.extracting(header.name.range)) { body(name, value(of: header)) }
        }
    }

    /// The elements of the last header with a certain name; `nil` unless it is an array of texts.
    package func texts(inHeader isMeant: (Span<UInt8>) -> Bool) -> [ArraySlice<UInt8>]? {
        let storage = content.storage
        let header = content.headers.last { isMeant(storage.span.extracting($0.name.range)) }
        guard case .array(let field)? = header?.value else { return nil }
        var rest = storage[field.range]
        var texts: [ArraySlice<UInt8>] = []
        while let type = rest.popFirst() {
            let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard "Sx".utf8.contains(type), count <= rest.count - 4 else { return nil }
            texts.append(rest.dropFirst(4).prefix(count))
            rest = rest.dropFirst(4 + count)
        }
        return texts
    }

    package func hasHeader(beginningWith prefix: StaticString) -> Bool {
        let storage = content.storage
        let count = prefix.utf8CodeUnitCount
        return content.headers.contains { header in
            let name = header.name.range
            return name.count >= count
                && storage.span.extracting(name.lowerBound..<name.lowerBound + count).equals(prefix)
        }
    }

    package var hasMessageID: Bool { !content.layout.messageID.isEmpty }

    /// Combines what each redelivery of the message repeats: `message_id`, `correlation_id`, `reply_to`, exchange,
    /// routing key, body, and headers. Left out are the counts, which a broker changes, and `traceparent`, which a
    /// worker changes. The order of the headers does not matter: RabbitMQ up to 3.12 sorts them when it adds a count.
    package func combineIdentity(into hash: inout ContentHash) {
        let storage = content.storage
        func add(_ field: Field) { hash.combine(storage.span.extracting(field.isEmpty ? 0..<0 : field.range)) }
        add(content.layout.messageID)
        add(content.layout.correlationID)
        add(content.layout.replyTo)
        add(content.layout.exchange)
        add(content.layout.routingKey)
        add(content.layout.body)
        var headers: UInt64 = 0
        for header in content.headers {
            let name = storage.span.extracting(header.name.range)
            guard !name.equals("x-delivery-count"), !name.equals("x-acquired-count"), !name.equals("traceparent")
            else { continue }
            var own = ContentHash()
            own.combine(name)
            switch header.value {
            case .text(let field), .array(let field): own.combine(storage.span.extracting(field.range))
            case .integer(let value): own.combine(UInt64(bitPattern: value))
            case .number(let value): own.combine(value.bitPattern)
            case .boolean(let value): own.combine(value ? 1 : 0)
            case .other: break
            }
            headers &+= own.value
        }
        hash.combine(headers)
    }

    /// The same message with a slice of its body as the body. Nothing is copied.
    package func trimmed(to part: ArraySlice<UInt8>) -> Delivery {
        var layout = content.layout
        layout.body = Field(part.startIndex..<part.endIndex)
        return copy(storage: content.storage, layout: layout)
    }

    /// The same message with another body, for a nested format, without a byte order mark. Slices of the message are
    /// not copied; others are appended to the block.
    package func inner(_ body: ArraySlice<UInt8>, contentType: ArraySlice<UInt8>? = nil) -> Delivery {
        var storage = content.storage
        var layout = content.layout
        layout.body = Self.find(body, in: &storage)
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { layout.body.lower += 3 }
        layout.contentType = contentType.map { Self.find($0, in: &storage) } ?? .absent
        return copy(storage: storage, layout: layout)
    }

    private static func find(_ bytes: ArraySlice<UInt8>, in storage: inout [UInt8]) -> Field {
        if let range = storage.span.indices(of: bytes.span) { return Field(range) }
        return place(bytes, in: &storage)
    }

    package var hasContentEncoding: Bool { !content.layout.contentEncoding.isEmpty }

    /// The same message with its decompressed body.
    package func decompressed(to body: [UInt8]) -> Delivery {
        var storage = content.storage
        var layout = content.layout
        layout.body = Self.place(body, in: &storage)
        layout.contentEncoding = .absent
        return copy(storage: storage, layout: layout)
    }

    /// The same message without some of its headers.
    ///
    /// - Parameter rawProperties: without these headers as well; appended to the block. `nil` keeps the existing ones.
    package func removingHeaders(_ names: Set<ArraySlice<UInt8>>, rawProperties: [UInt8]?) -> Delivery {
        var storage = content.storage
        var layout = content.layout
        if let rawProperties { layout.rawProperties = Self.place(rawProperties, in: &storage) }
        let headers = content.headers.filter { !names.contains(content.storage[$0.name.range]) }
        return copy(storage: storage, layout: layout, headers: headers)
    }

    /// The same message with one value of a header in place of all that it has; ``rawProperties`` stay.
    package func settingHeader(_ name: String, to value: [UInt8]) -> Delivery {
        var storage = content.storage
        var headers = content.headers.filter { !content.storage[$0.name.range].elementsEqual(name.utf8) }
        let field = Self.place(name.utf8, in: &storage)
        headers.append(Header(field, .text(Self.place(value, in: &storage))))
        return copy(storage: storage, layout: content.layout, headers: headers)
    }

    private static func place(_ bytes: some Collection<UInt8>, in storage: inout [UInt8]) -> Field {
        let start = storage.count
        storage.append(contentsOf: bytes)
        return Field(start..<storage.count)
    }

    private func copy(storage: [UInt8], layout: Layout, headers: [Header]? = nil) -> Delivery {
        Delivery(
            epoch: epoch, tag: tag, redelivered: redelivered, queue: queue, timestamp: timestamp, storage: storage,
            layout: layout, headers: headers ?? content.headers)
    }

    @usableFromInline
    func value(of header: Header) -> HeaderValue {
        switch header.value {
        case .text(let field): .text(bytes(field) ?? [])
        case .integer(let value): .integer(value)
        case .number(let value): .number(value)
        case .boolean(let value): .boolean(value)
        case .array, .other: .other
        }
    }
}
