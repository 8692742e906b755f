import CNghttp2
import Core

/// The header blocks of requests, which are ours and not nghttp2's.
extension HTTP2ClientSession {
    /// The most that the fields of a request may weigh, in bytes, counted as in RFC 9113, section 6.5.2, which is more than
    /// they take: one frame of the smallest SETTINGS_MAX_FRAME_SIZE, 16,384 bytes, holds them and what is said of the table before
    /// them, so that there is never a CONTINUATION.
    static let maximumHeaderBlock = 16_000

    /// Starts a new header block.
    package func beginRequest() {
        unsentHeaders.begin()
    }

    /// Adds a field; the name in lower case, pseudo-header fields first.
    package func add(_ name: HeaderName, _ value: Span<UInt8>, indexing: Indexing = .indexed) {
        unsentHeaders.add(name, value, indexing)
    }

    /// Adds a field whose value is known at compile time.
    package func add(_ name: HeaderName, _ value: StaticString, indexing: Indexing = .indexed) {
        unsafe add(name, Span(_unsafeStart: value.utf8Start, count: value.utf8CodeUnitCount), indexing: indexing)
    }

    /// Adds a field that was encoded before.
    package func add(_ literal: borrowing HeaderLiteral) {
        unsentHeaders.add(literal)
    }

    /// Writes the HEADERS frame of a stream, with the flags that nghttp2 gave it.
    func appendHeaders(stream: Int32, flags: UInt8, to output: inout ByteQueue) {
        let known = UInt8(NGHTTP2_FLAG_END_STREAM.rawValue | NGHTTP2_FLAG_END_HEADERS.rawValue)
        precondition(flags | known == known, "a request has no padding and no priority")
        let start = output.count
        output.append(bigEndian: 0 as UInt32)
        output.append(flags)
        output.append(bigEndian: stream)
        unsentHeaders.write(stream: stream, with: &headerEncoder, to: &output)
        let length = UInt32(output.count - start - RawSession.frameHeaderSize)
        output.overwrite(at: start, bigEndian: length << 8 | NGHTTP2_HEADERS.rawValue)
    }
}
