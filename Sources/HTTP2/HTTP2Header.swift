import Core
import Glibc

/// One field of a header block; names are lower case (RFC 9113, section 8.2).
package struct HTTP2Header: Hashable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]

    package init(name: [UInt8], value: [UInt8]) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ value: String) {
        self.init(name: Array(name.utf8), value: Array(value.utf8))
    }
}

extension [HTTP2Header] {
    /// The value of the first field of that name.
    package func value(of name: StaticString) -> [UInt8]? {
        first { $0.name.equals(name) }?.value
    }
}

extension Span<UInt8> {
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count, count > 0 else { return count == other.count }
        return unsafe withUnsafeBufferPointer { here in
            unsafe other.withUnsafeBufferPointer { unsafe memcmp(here.baseAddress!, $0.baseAddress!, count) == 0 }
        }
    }
}

extension [UInt8] {
    /// Whether borrowed bytes are these.
    func isEqual(to bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe span.isEqual(to: Span(_unsafeElements: bytes))
    }
}

/// What the peer answered on one stream.
package struct HTTP2Response: Sendable {
    /// 200 or above; interim responses (1xx) are passed over.
    package var status: UInt16
    /// Only those that ``HTTP2ClientSession/Settings/wantedHeaders`` names, in the order in which they came.
    package var headers: [HTTP2Header]
    /// At most ``HTTP2ClientSession/Settings/maximumResponseBody`` bytes.
    package var body: [UInt8]
    /// Whether the peer sent more body than was kept.
    package var bodyTruncated: Bool
}

/// How a field was written on the wire.
///
/// Source: RFC 7541, section 6.
package enum HeaderRepresentation: Hashable, Sendable {
    /// A reference to the static or dynamic table.
    case indexed
    /// A literal that went into the dynamic table.
    case incrementalIndexing
    /// A literal that did not.
    case withoutIndexing
    /// A literal that no intermediary may put into a table either.
    case neverIndexed
}

/// What a client asked on one stream.
package struct HTTP2Request: Sendable {
    /// In the order of the wire, pseudo-header fields first.
    package var headers: [HTTP2Header] = []
    /// How each of ``headers`` was written.
    package var representations: [HeaderRepresentation] = []
    /// The length of the compressed header block, in bytes.
    package var headerBlockLength = 0
    /// Whether the HEADERS frame carried the deprecated priority fields (RFC 9113, section 5.3.2).
    package var hasPriority = false
    /// At most ``HTTP2ServerSession/Settings/maximumRequestBody`` bytes.
    package var body: [UInt8] = []
    /// Whether the client sent more body than was kept.
    package var bodyTruncated = false
    /// The fields that came after the body.
    package var trailers: [HTTP2Header] = []
}
