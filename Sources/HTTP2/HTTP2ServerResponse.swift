/// A server's response on one stream, including deliberate misbehaviour.
package struct HTTP2ServerResponse: Sendable {
    package var status: UInt16
    package var headers: [HTTP2Header]
    package var body: [UInt8]
    /// The maximum payload of one DATA frame, in bytes.
    package var largestFrame = 16_384
    /// Whether END_STREAM does not follow the last byte of the body.
    package var staysOpen = false

    package init(status: UInt16, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
