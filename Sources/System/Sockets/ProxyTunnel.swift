package import Core

/// Requests a tunnel from an HTTP proxy: CONNECT and its response, as bytes. The data after the response is not HTTP.
///
/// Source: RFC 9110, section 9.3.6; RFC 9112, section 4.
package struct ProxyTunnel: Sendable {
    /// The maximum size of status lines and header fields, in bytes, including interim responses.
    package static let maximumHeader = 16 * 1024
    /// The number of characters of a proxy's reason phrase in an error.
    static let maximumPhrase = 60

    package let proxy: ProxyAddress
    /// The target of the tunnel; the proxy resolves its name.
    package let target: Endpoint
    /// When the proxy must have responded.
    var deadline = Instant.distantFuture
    /// Whether the proxy has shown that it is one.
    private(set) var hasResponded = false
    private var reader = ResponseHeadReader(limit: maximumHeader)

    package init(to target: Endpoint, through proxy: ProxyAddress) {
        self.target = target
        self.proxy = proxy
    }

    /// Sent first; nothing else is sent until the response.
    package var request: [UInt8] {
        var bytes = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization = proxy.authorization {
            bytes += Array("Proxy-Authorization: ".utf8) + authorization + Array("\r\n".utf8)
        }
        return bytes + Array("\r\n".utf8)
    }

    /// Reads the proxy's response.
    ///
    /// - Returns: the number of `bytes` in the response; the others come from the target. `nil` while the response is
    ///   incomplete.
    /// - Throws: when the proxy refuses the tunnel.
    package mutating func receive(_ bytes: Span<UInt8>) throws(TransportError) -> Int? {
        let found: (head: ResponseHead, count: Int)?
        do throws(ResponseHeadReader.Failure) {
            found = try reader.receive(bytes)
        } catch {
            switch error {
            case .notHTTP:
                throw TransportError(
                    "EPROTO", "\(proxy) does not respond as an HTTP proxy: check the proxy's host and port")
            case .tooLong:
                throw TransportError(
                    "EMSGSIZE",
                    "the response of the proxy \(proxy) has more than \(Self.maximumHeader) bytes of header")
            }
        }
        guard let (head, count) = found else { return nil }
        hasResponded = true
        guard 200..<300 ~= head.status else { throw refusal(head) }
        return count
    }

    /// The error for a connection to the proxy that failed, or that ended before the tunnel was open.
    func ended(_ failure: TransportError?) -> TransportError {
        failure.map { TransportError($0.code, "the proxy: \($0.message)") }
            ?? TransportError(
                "ECONNRESET", "the proxy \(proxy) closed the connection before the tunnel to \(target) was open")
    }

    func timedOut(after time: Duration) -> TransportError {
        TransportError("ETIMEDOUT", "the proxy \(proxy) did not open a tunnel to \(target) within \(time)")
    }

    private func refusal(_ head: ResponseHead) -> TransportError {
        let status = head.status
        let what =
            switch status {
            case 407 where proxy.authorization == nil: "the proxy \(proxy) requires a user and a password"
            // tinyproxy responds to unknown credentials with 401.
            case 401, 407: "the proxy \(proxy) refuses the user or the password"
            case 403: "the proxy \(proxy) does not permit connections to \(target)"
            case 502, 503, 504: "the proxy \(proxy) cannot reach \(target)"
            default: "the proxy \(proxy) does not open a tunnel to \(target)"
            }
        let phrase = String(
            decoding: head.phrase.utf8.filter { 0x20...0x7E ~= $0 }.prefix(Self.maximumPhrase), as: UTF8.self)
        return TransportError(
            "HTTP \(status)", "\(what) (HTTP \(status)\(phrase.isEmpty ? "" : " \(phrase)"))",
            isTransient: status >= 500 || status == 408 || status == 429)
    }
}
