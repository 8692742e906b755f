package import Core

/// Asks an HTTP proxy for a way through: CONNECT and its answer, as bytes. What follows the answer is not HTTP any
/// more.
///
/// Source: RFC 9110, section 9.3.6; RFC 9112, section 4.
package struct ProxyTunnel: ~Copyable {
    /// The most bytes of an answer's status line and header fields, interim answers included.
    package static let maximumHeader = 16 * 1024
    /// The most characters that an error tells of a proxy's own words.
    static let maximumPhrase = 60

    private static let greeting = Array("HTTP/1.".utf8)

    package let proxy: ProxyAddress
    /// Where the way is to lead; the proxy resolves its name.
    package let target: Endpoint
    private var header: [UInt8] = []
    /// Of the answer that is being read, in ``header``.
    private var start = 0

    package init(to target: Endpoint, through proxy: ProxyAddress) {
        self.target = target
        self.proxy = proxy
    }

    /// What is sent first, and nothing else until the answer.
    package var request: [UInt8] {
        var bytes = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization = proxy.authorization {
            bytes += Array("Proxy-Authorization: ".utf8) + authorization + Array("\r\n".utf8)
        }
        return bytes + Array("\r\n".utf8)
    }

    /// Reads what the proxy says.
    ///
    /// - Returns: how many of `bytes` were the proxy's: the way is open, and the others come from the target; `nil`
    ///   while the answer is not complete.
    /// - Throws: when there is no way.
    package mutating func receive(_ bytes: Span<UInt8>) throws(TransportError) -> Int? {
        for index in 0..<bytes.count {
            header.append(bytes[index])
            guard header.count <= Self.maximumHeader else { throw endlessHeader }
            try checkStart()
            guard isComplete else { continue }
            let status = try status()
            // Interim answers may come before the answer (RFC 9110, section 15.2).
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

    /// What it means that the proxy closes before its answer was complete.
    package var closedEarly: TransportError {
        error("ECONNRESET", "the proxy \(proxy) closed the connection without opening the way to \(target)")
    }

    /// What it means that no answer came within `time`.
    package func timedOut(after time: Duration) -> TransportError {
        error("ETIMEDOUT", "the proxy \(proxy) did not open the way to \(target) within \(time)")
    }

    // MARK: Reading

    /// Tells at once what is not HTTP, such as TLS or another protocol's greeting: its end may never come.
    private func checkStart() throws(TransportError) {
        let position = header.count - 1 - start
        guard position < Self.greeting.count, header[start + position] != Self.greeting[position] else { return }
        throw notHTTP
    }

    /// Whether an empty line has ended the header; a lone line feed is a line's end, too (RFC 9112, section 2.2).
    private var isComplete: Bool {
        let lineFeed = UInt8(ascii: "\n")
        guard header.last == lineFeed else { return false }
        let tail = header[start...].dropLast()
        return tail.last == lineFeed || (tail.last == UInt8(ascii: "\r") && tail.dropLast().last == lineFeed)
    }

    /// The first line's words after the version: three digits, and what the proxy says about them.
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
            // To credentials that it does not know, tinyproxy says 401.
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
