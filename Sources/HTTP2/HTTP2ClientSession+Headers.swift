import CNghttp2
import Core

/// The header fields of requests.
extension HTTP2ClientSession {
    /// The maximum size of a request's fields, in bytes, counted as in RFC 9113, section 6.5.2, which exceeds their
    /// encoded size. One frame of the smallest SETTINGS_MAX_FRAME_SIZE, 16,384 bytes, holds them and preceding table
    /// size updates, so that CONTINUATION is never needed.
    static let maximumHeaderList = 16_000

    /// Starts the fields of a new request, and discards those of an unsubmitted one.
    package mutating func beginRequest() {
        fields.removeAll()
    }

    /// Keeps the fields added so far: ``beginSimilarRequest()`` starts with them.
    package mutating func keepFields() {
        fields.keep()
    }

    /// Starts the fields of a new request with the kept fields of the previous one.
    package mutating func beginSimilarRequest() {
        fields.removeAdded()
    }

    /// Changes the value of a kept field, for this request. It must be called for each request if it is called once.
    ///
    /// - Parameter index: the number of fields before it.
    package mutating func replaceValue(at index: Int, _ value: Span<UInt8>, indexing: Indexing = .automatic) {
        fields.replaceValue(at: index, value, indexing)
    }

    /// Adds a field. The name must be in lower case; pseudo-header fields come first.
    package mutating func add(_ name: StaticString, _ value: Span<UInt8>, indexing: Indexing = .automatic) {
        fields.add(name, value, indexing)
    }

    /// Adds a field whose value is known at compile time.
    package mutating func add(_ name: StaticString, _ value: StaticString, indexing: Indexing = .automatic) {
        fields.add(name, value, indexing)
    }
}
