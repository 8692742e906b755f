package import HTTP2

/// What APNs answers to one request: a status, and for a failure a reason.
///
/// Source: "Handling notification responses from APNs".
package struct Answer: Equatable, Sendable {
    /// How the body is written; everything but ``json`` is a fault that a script asks for.
    package enum Body: String, CaseIterable, Sendable {
        /// `{"reason":"…"}`, with `"timestamp"` (milliseconds) where there is one; empty for a success.
        case json
        /// No body at all, whatever the status.
        case none
        /// Bytes that are not JSON.
        case garbage
        /// A valid JSON object of 64 KiB.
        case huge
        /// JSON that ends in its middle.
        case truncated
        /// The headers alone, as if a body followed; it never does.
        case withheld
    }

    /// What stands in `apns-id`, or in `apns-request-id`; everything but ``same`` is a fault that a script asks for.
    package enum Identifier: String, CaseIterable, Sendable {
        /// The request's own.
        case same
        /// The header is missing.
        case none
        /// A UUID that nobody sent.
        case other
        /// The request's own in upper case.
        case upper
        /// No UUID at all.
        case garbage
    }

    package var status: UInt16
    package var reason: String?
    /// Milliseconds since 1970 UTC; only a 410 has one.
    package var timestamp: Int64?
    package var body: Body
    package var identifier = Identifier.same
    /// The most that one DATA frame carries, in bytes; `nil` for as much as fits.
    package var largestFrame: Int?
    /// Whether trailers follow the body.
    package var hasTrailers = false
    /// What the stream is reset with after the answer.
    package var resetCode: HTTP2ErrorCode?
    /// Why a request was refused, for the log: what is wrong with it, in words.
    package var cause: String?

    package init(
        _ status: UInt16, _ reason: String? = nil, timestamp: Int64? = nil, body: Body = .json, cause: String? = nil
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.body = body
        self.cause = cause
    }

    package static let accepted = Answer(200)

    /// The bytes of the body; empty where there is none.
    package var bodyBytes: [UInt8] {
        switch body {
        case .none, .withheld: return []
        case .truncated: return Array("{\"reason\":\"".utf8)
        case .garbage: return Array("<html>this is not the JSON you are looking for".utf8)
        case .huge:
            return Array("{\"reason\":\"\(reason ?? "")\",\"padding\":\"".utf8) + [UInt8](repeating: 0x78, count: 65536)
                + Array("\"}".utf8)
        case .json:
            guard let reason else { return [] }
            if let timestamp { return Array("{\"reason\":\"\(reason)\",\"timestamp\":\(timestamp)}".utf8) }
            return Array("{\"reason\":\"\(reason)\"}".utf8)
        }
    }
}
