import CNghttp2
import Core

/// The header fields of requests.
extension HTTP2ClientSession {
    /// The most that the fields of a request may weigh, in bytes, counted as in RFC 9113, section 6.5.2, which is more
    /// than they take: one frame of the smallest SETTINGS_MAX_FRAME_SIZE, 16,384 bytes, holds them and what is said of
    /// the table before them, so that there is never a CONTINUATION.
    static let maximumHeaderList = 16_000

    /// Starts the fields of a new request; those of one that was not submitted are forgotten.
    package func beginRequest() {
        fields.removeAll()
    }

    /// Adds a field; the name in lower case, pseudo-header fields first.
    package func add(_ name: StaticString, _ value: Span<UInt8>, indexing: Indexing = .automatic) {
        fields.add(name, value, indexing)
    }

    /// Adds a field whose value is known at compile time.
    package func add(_ name: StaticString, _ value: StaticString, indexing: Indexing = .automatic) {
        fields.add(name, value, indexing)
    }
}
