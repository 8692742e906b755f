package import Core

/// Requests a tunnel from an HTTP proxy: CONNECT and its response, as bytes. The data after the response is not HTTP.
///
/// Source: RFC 9110, section 9.3.6; RFC 9112, section 4.
package struct ProxyTunnel: ~Copyable {
    /// The maximum size of status lines and header fields, in bytes, including interim responses.
    package static let maximumHeader = 16 * 1024
    /// The number of characters of a proxy's reason phrase in an error.
    static let maximumPhrase = 60

    private static let greeting = Array("HTTP/1.".utf8)

    package let proxy: ProxyAddress
    /// The target of the tunnel; the proxy resolves its name.
    package let target: Endpoint
    private var header: [UInt8] = []
    /// The start of the current response in ``header``.
    private var start = 0

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
        for index in 0..<bytes.count {
            header.append(bytes[index])
            guard header.count <= Self.maximumHeader else { throw endlessHeader }
            try checkStart()
            guard isComplete else { continue }
            let status = try status()
            // Interim responses may precede the final one (RFC 9110, section 15.2).
            if 100..<200 ~= status {
                start = header.count
            } else if 200..<300 ~= status {
                return index + 1
            } else {
                throw refusal(status)
            }
        }
        return nil
    }

    /// The error for a proxy that closes before its response is complete.
    package var closedEarly: TransportError {
        error("ECONNRESET", "the proxy \(proxy) closed the connection without opening the way to \(target)")
    }

    /// The error for a response that did not arrive within `time`.
    package func timedOut(after time: Duration) -> TransportError {
        error("ETIMEDOUT", "the proxy \(proxy) did not open the way to \(target) within \(time)")
    }

    // MARK: Reading

    /// Rejects bytes that are not HTTP immediately, such as TLS or another protocol's greeting: a complete header may
    /// never arrive.
    private func checkStart() throws(TransportError) {
        let position = header.count - 1 - start
        guard position < Self.greeting.count, header[start + position] != Self.greeting[position] else { return }
        throw notHTTP
    }

    /// Whether an empty line has ended the header; a bare line feed also ends a line (RFC 9112, section 2.2).
    private var isComplete: Bool {
        let lineFeed = UInt8(ascii: "\n")
        guard header.last == lineFeed else { return false }
        let tail = header[start...].dropLast()
        return tail.last == lineFeed || (tail.last == UInt8(ascii: "\r") && tail.dropLast().last == lineFeed)
    }

    /// The status line after the version: three digits and the reason phrase.
    private var statusLine: (status: ArraySlice<UInt8>, phrase: ArraySlice<UInt8>) {
        let line = header[start...].prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return (words.count > 1 ? words[1] : [], words.count > 2 ? words[2] : [])
    }

    private func status() throws(TransportError) -> Int {
        let digits = statusLine.status
        let isNumber = digits.count == 3 && digits.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isNumber else { throw notHTTP }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    // MARK: Errors

    private func refusal(_ status: Int) -> TransportError {
        let what =
            switch status {
            case 407 where proxy.authorization == nil: "the proxy \(proxy) wants a user and a password"
            // tinyproxy responds to unknown credentials with 401.
            case 401, 407: "the proxy \(proxy) wants other credentials"
            case 403: "the proxy \(proxy) does not permit connections to \(target)"
            case 502, 503, 504: "the proxy \(proxy) cannot reach \(target)"
            default: "the proxy \(proxy) does not open a way to \(target)"
            }
        let phrase = String(
            decoding: statusLine.phrase.filter { 0x20...0x7E ~= $0 }.prefix(Self.maximumPhrase), as: UTF8.self)
        return error("HTTP \(status)", "\(what) (HTTP \(status)\(phrase.isEmpty ? "" : " \(phrase)"))")
    }

    private var notHTTP: TransportError {
        error("EPROTO", "\(proxy) does not answer as an HTTP proxy does: check the proxy's host and port")
    }

    private var endlessHeader: TransportError {
        error("EMSGSIZE", "the answer of the proxy \(proxy) has more than \(Self.maximumHeader) bytes of header")
    }

    private func error(_ code: String, _ message: String) -> TransportError {
        TransportError(code: .init(rawValue: code), message: message)
    }
}
