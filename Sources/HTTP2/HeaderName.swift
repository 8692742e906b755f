import Core

/// The name of a header field that is sent, in lower case (RFC 9113, section 8.2).
package struct HeaderName: Sendable, ExpressibleByStringLiteral {
    package let text: StaticString
    /// Its first place in HPACK's static table (RFC 7541, appendix A); 0 for a name that is not there, or was not looked up.
    let staticIndex: Int

    package static let authority = HeaderName(":authority", staticIndex: 1)
    package static let method = HeaderName(":method", staticIndex: 2)
    package static let path = HeaderName(":path", staticIndex: 4)
    package static let scheme = HeaderName(":scheme", staticIndex: 6)
    package static let authorization = HeaderName("authorization", staticIndex: 23)

    private init(_ text: StaticString, staticIndex: Int) {
        self.text = text
        self.staticIndex = staticIndex
    }

    package init(stringLiteral text: StaticString) {
        self.init(text, staticIndex: 0)
    }

    var count: Int { text.utf8CodeUnitCount }

    func isEqual(to other: HeaderName) -> Bool {
        guard count == other.count else { return false }
        return unsafe text.utf8Start == other.text.utf8Start
            || Span(_unsafeStart: text.utf8Start, count: count).equals(other.text)
    }
}
