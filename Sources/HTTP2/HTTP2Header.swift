import Core

/// One field of a header block. Names are in lower case (RFC 9113, section 8.2).
package struct HTTP2Header: Hashable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]
}

extension HTTP2Header {
    package init(_ name: String, _ value: String) {
        self.init(name: Array(name.utf8), value: Array(value.utf8))
    }
}

extension [HTTP2Header] {
    package func value(of name: StaticString) -> [UInt8]? {
        first { $0.name.equals(name) }?.value
    }
}

extension [UInt8] {
    func isEqual(to bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe span.equals(Span(_unsafeElements: bytes))
    }
}

package struct HTTP2Response: Sendable {
    /// 200 or above; interim responses (1xx) are ignored.
    package var status: UInt16
    /// Only those in ``HTTP2ClientSession/Settings/wantedHeaders``, in the order received.
    package var headers: [HTTP2Header]
    /// At most ``HTTP2ClientSession/Settings/maximumResponseBody`` bytes.
    package var body: [UInt8]
    package var bodyTruncated: Bool
}

package struct HTTP2Request: Sendable {
    /// In wire order, pseudo-header fields first.
    package var headers: [HTTP2Header] = []
    /// The length of the compressed header block, in bytes.
    package var headerBlockLength = 0
    /// Whether the HEADERS frame carried the deprecated priority fields (RFC 9113, section 5.3.2).
    package var hasPriority = false
    /// At most ``HTTP2ServerSession/Settings/maximumRequestBody`` bytes.
    package var body: [UInt8] = []
}
