import CRabbitMQ
package import Core

/// Splits a byte stream into frames (AMQP 0-9-1, section 4.2.3); librabbitmq decodes their methods.
///
/// librabbitmq's `amqp_handle_input` is not used, because it also decodes the properties of each content header.
/// Version 0.15 refuses headers nested deeper than 100 levels, so each delivery of such a message would end the
/// connection.
@safe
struct FrameReader: ~Copyable {
    @unsafe
    struct Frame {
        @unsafe
        enum Payload {
            case method(amqp_method_t)
            /// The encoded property flags and values.
            case contentHeader(classID: UInt16, bodySize: UInt64, properties: UnsafeBufferPointer<UInt8>)
            case body(UnsafeBufferPointer<UInt8>)
            case heartbeat
        }

        let channel: UInt16
        let payload: Payload
    }

    /// The received part of an incomplete frame, or a frame that was completed in it.
    private var partial = ByteQueue()
    private var isPartialComplete = false
    /// The maximum size of a frame in bytes, including header and end; the negotiated one once it is known.
    var maximumSize = Int(AMQPConfiguration.frameMax)
    private var pool = LibraryPool()

    /// Removes the next frame from `rest`; `nil` if it is not complete. The memory of a frame is valid until the next
    /// call.
    ///
    /// Throws for bytes that are not AMQP; then it must not be called again.
    mutating func next(_ rest: inout UnsafeBufferPointer<UInt8>) throws(AMQPError) -> Frame? {
        pool.recycle()
        if isPartialComplete {
            partial.removeAll()
            isPartialComplete = false
        }
        if partial.isEmpty, let size = try unsafe frameSize(rest), size <= rest.count {
            return try unsafe take(rest.removePrefix(size))
        }
        return try unsafe completePartial(from: &rest)
    }

    private mutating func completePartial(from rest: inout UnsafeBufferPointer<UInt8>) throws(AMQPError) -> Frame? {
        while true {
            let size = try unsafe frameSize(partial.buffer)
            let missing = (size ?? FrameFormat.headerSize) - partial.count
            guard missing > 0 else { break }
            guard !rest.isEmpty else { return nil }
            unsafe partial.append(Span(_unsafeElements: rest.removePrefix(min(missing, rest.count))))
        }
        isPartialComplete = true
        return try unsafe take(partial.buffer)
    }

    /// The size of the frame that starts here, in bytes; `nil` while its header is incomplete.
    private func frameSize(_ bytes: UnsafeBufferPointer<UInt8>) throws(AMQPError) -> Int? {
        guard bytes.count >= FrameFormat.headerSize else { return nil }
        let size = unsafe Int(UInt32(bigEndian: bytes, at: 3)) + FrameFormat.overhead
        // Also the header of another version of AMQP, which a broker sends in place of a frame.
        guard size <= maximumSize else {
            throw Self.notAMQP("a frame of \(size) bytes; the negotiated limit is \(maximumSize)")
        }
        return size
    }

    private mutating func take(_ frame: UnsafeBufferPointer<UInt8>) throws(AMQPError) -> Frame {
        guard unsafe frame[frame.count - 1] == FrameFormat.end else {
            throw Self.notAMQP("a frame without an end octet")
        }
        let channel = unsafe UInt16(bigEndian: frame, at: 1)
        let content = unsafe UnsafeBufferPointer(
            rebasing: frame[FrameFormat.headerSize..<frame.count - 1])
        return unsafe Frame(channel: channel, payload: try payload(ofType: frame[0], content))
    }

    private mutating func payload(
        ofType type: UInt8, _ content: UnsafeBufferPointer<UInt8>
    ) throws(AMQPError) -> Frame.Payload {
        switch FrameFormat.Kind(rawValue: type) {
        case .method:
            guard content.count >= 4 else { throw Self.notAMQP("a method frame without a method ID") }
            return unsafe .method(try method(UInt32(bigEndian: content, at: 0), content[4...]))
        case .header:
            guard content.count >= FrameFormat.contentHeaderSize else {
                throw Self.notAMQP("a content header is cut off")
            }
            return unsafe .contentHeader(
                classID: UInt16(bigEndian: content, at: 0), bodySize: UInt64(bigEndian: content, at: 4),
                properties: UnsafeBufferPointer(rebasing: content[FrameFormat.contentHeaderSize...]))
        case .body: return unsafe .body(content)
        case .heartbeat: return unsafe .heartbeat
        case nil: throw Self.notAMQP("a frame of type \(type)")
        }
    }

    private mutating func method(
        _ number: UInt32, _ arguments: Slice<UnsafeBufferPointer<UInt8>>
    ) throws(AMQPError) -> amqp_method_t {
        // librabbitmq knows it only from release 0.12 on.
        if number == SecretUpdate.ok { return unsafe amqp_method_t(id: number, decoded: nil) }
        let base = unsafe UnsafeMutableRawPointer(mutating: UnsafeBufferPointer(rebasing: arguments).baseAddress)
        var decoded: UnsafeMutableRawPointer?
        let status = unsafe amqp_decode_method(
            number, &pool.raw, amqp_bytes_t(len: arguments.count, bytes: base), &decoded)
        guard status == 0 else { throw unsafe Self.notAMQP(String(cString: amqp_error_string2(status))) }
        return unsafe amqp_method_t(id: number, decoded: decoded)
    }

    private static func notAMQP(_ what: String) -> AMQPError {
        AMQPError(.badData, "the peer's bytes are not AMQP 0-9-1: \(what)")
    }
}

extension FixedWidthInteger {
    fileprivate init(bigEndian bytes: UnsafeBufferPointer<UInt8>, at offset: Int) {
        let raw = UnsafeRawBufferPointer(bytes)
        self = unsafe Self(bigEndian: raw.loadUnaligned(fromByteOffset: offset, as: Self.self))
    }
}

extension ByteQueue {
    /// The bytes in the queue, valid until it changes.
    fileprivate var buffer: UnsafeBufferPointer<UInt8> {
        unsafe withBytes { unsafe $0.withUnsafeBufferPointer { unsafe $0 } }
    }
}

extension UnsafeBufferPointer {
    fileprivate mutating func removePrefix(_ count: Int) -> Self {
        let prefix = unsafe Self(rebasing: self[..<count])
        unsafe self = Self(rebasing: self[count...])
        return unsafe prefix
    }
}

extension amqp_bytes_t {
    /// The bytes in the parser's memory.
    var buffer: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: bytes?.assumingMemoryBound(to: UInt8.self), count: bytes == nil ? 0 : len)
    }

    /// A copy; invalid UTF-8 is replaced.
    var text: String {
        unsafe String(decoding: buffer, as: UTF8.self)
    }
}

extension LibraryVersion {
    package static var librabbitmq: String { unsafe String(cString: amqp_version()) }
}
