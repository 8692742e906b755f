import Core
import TestSupport
import Testing

@testable import System

@Suite("The tunnel through a proxy")
struct ProxyTunnelTests {
    static let proxy = ProxyAddress(endpoint: Endpoint(host: "10.0.0.1", port: 3128))
    static let target = Endpoint(host: "api.push.apple.com", port: 443)

    /// Parses a response that arrives in pieces of at most `size` bytes; returns how many bytes were the proxy's.
    private func read(
        _ response: String, from proxy: ProxyAddress = proxy, pieces size: Int = .max
    ) throws(TransportError) -> Int? {
        var tunnel = ProxyTunnel(to: Self.target, through: proxy)
        let bytes = Array(response.utf8)
        var start = 0
        while start < bytes.count {
            let piece = bytes[start..<min(bytes.count, start + min(size, bytes.count))]
            if let count = try tunnel.receive(piece.span) { return start + count }
            start += piece.count
        }
        return nil
    }

    private func failure(_ response: String, from proxy: ProxyAddress = proxy) -> TransportError? {
        #expect(throws: TransportError.self) { try read(response, from: proxy) }
    }

    @Test("It is requested with CONNECT, the target twice and nothing else")
    func request() {
        let request = ProxyTunnel(to: Self.target, through: Self.proxy).request
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT api.push.apple.com:443 HTTP/1.1\r\nHost: api.push.apple.com:443\r\n\r\n")
        let numeric = ProxyTunnel(to: Endpoint(host: "2001:db8::1", port: 2197), through: Self.proxy).request
        #expect(String(decoding: numeric, as: UTF8.self).hasPrefix("CONNECT [2001:db8::1]:2197 HTTP/1.1\r\n"))
    }

    @Test(
        "Credentials are sent as in RFC 7617",
        arguments: [
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123\u{A3}", "dGVzdDoxMjPCow=="),
            ("a", "", "YTo="), ("ab", "cde", "YWI6Y2Rl"), ("", "", "Og=="),
        ])
    func credentials(user: String, password: String, expected: String) {
        let proxy = ProxyAddress(endpoint: Self.proxy.endpoint, user: user, password: password)
        let request = String(decoding: ProxyTunnel(to: Self.target, through: proxy).request, as: UTF8.self)
        #expect(request.hasSuffix("\r\nProxy-Authorization: Basic \(expected)\r\n\r\n"))
    }

    @Test("No description and no dump of a proxy shows its credentials")
    func secret() {
        let proxy = ProxyAddress(endpoint: Self.proxy.endpoint, user: "user", password: "password")
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), dumped] {
            #expect(text.contains("10.0.0.1"))
            #expect(!text.contains("user") && !text.contains("dXNlcj") && !text.contains("117"))
        }
    }

    @Test(
        "It is open after the header of any response from 200 to 299, in any pieces",
        arguments: [
            "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: x\r\nContent-Length: 9\r\n\r\n",
            "HTTP/1.1 299\r\n\r\n", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func open(response: String) throws {
        for size in 1...(response.utf8.count + 6) {
            #expect(try read(response + "\u{16}\u{3}\r\n\r\n", pieces: size) == response.utf8.count)
        }
        for count in 0..<response.utf8.count {
            #expect(try read(String(decoding: response.utf8.prefix(count), as: UTF8.self)) == nil)
        }
    }

    private static let refusals = cases(
        """
        HTTP/1.1 407 Proxy Authentication Required → \
            requires a user and a password (HTTP 407 Proxy Authentication Required)
        HTTP/1.1 403 Filtered → does not permit connections to api.push.apple.com:443 (HTTP 403 Filtered)
        HTTP/1.1 502 Bad Gateway → cannot reach api.push.apple.com:443 (HTTP 502 Bad Gateway)
        HTTP/1.1 503 → cannot reach api.push.apple.com:443 (HTTP 503)
        HTTP/1.0 504  → cannot reach api.push.apple.com:443 (HTTP 504)
        HTTP/1.1 499 a\u{1B}[1mb → does not open a tunnel to api.push.apple.com:443 (HTTP 499 a[1mb)
        HTTP/1.1 300 \(String(repeating: "m", count: 61)) → \
            does not open a tunnel to api.push.apple.com:443 (HTTP 300 \(String(repeating: "m", count: 60)))
        HTTP/1.1 500 → does not open a tunnel to api.push.apple.com:443 (HTTP 500)
        HTTP/1.1 408 → does not open a tunnel to api.push.apple.com:443 (HTTP 408)
        HTTP/1.1 429 → does not open a tunnel to api.push.apple.com:443 (HTTP 429)
        """)

    @Test("A refusal reports its meaning", arguments: refusals)
    func refused(line: String, message: String) {
        let failure = failure(line + "\r\nServer: x\r\n\r\n<html>")
        let status = String(line.dropFirst(9).prefix(3))
        #expect(failure?.code.rawValue == "HTTP \(status)")
        #expect(failure?.message == "the proxy 10.0.0.1:3128 " + message)
        #expect(failure?.isTransient == ["408", "429", "500", "502", "503", "504"].contains(status))
    }

    @Test("Credentials that the proxy refuses are reported, and not shown")
    func wrongCredentials() {
        let proxy = ProxyAddress(endpoint: Self.proxy.endpoint, user: "user", password: "password")
        #expect(
            failure("HTTP/1.1 407 Denied\r\n\r\n", from: proxy)?.message
                == "the proxy 10.0.0.1:3128 refuses the user or the password (HTTP 407 Denied)")
        #expect(failure("HTTP/1.1 401 Unauthorized\r\n\r\n", from: proxy)?.message.contains("refuses the user") == true)
    }

    @Test("Input that is not HTTP, and an endless response, are reported")
    func unreadable() {
        let other = failure("220 mail.example ESMTP\r\n")
        #expect(other?.code.rawValue == "EPROTO")
        #expect(other?.message == "10.0.0.1:3128 does not respond as an HTTP proxy: check the proxy's host and port")
        let endless = failure(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000))
        #expect(endless?.code.rawValue == "EMSGSIZE")
        #expect(endless?.message == "the response of the proxy 10.0.0.1:3128 has more than 16384 bytes of header")
    }
}
