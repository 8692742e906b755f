package import Core
import Glibc

/// Parses the addresses in a configuration.
package enum Addresses {
    /// `https://host[:port]` with an optional slash at the end; the default port is 443.
    static func service(_ text: String) -> Endpoint? {
        authority(of: text, "https://").flatMap { endpoint($0, defaultPort: 443) }
    }

    /// `http://host[:port]` or `https://…`, an optional slash at the end; the port is OTLP's where it is missing.
    static func collector(_ text: String) -> (endpoint: Endpoint, usesTLS: Bool)? {
        let usesTLS = text.hasPrefix("https://")
        let authority = authority(of: text, usesTLS ? "https://" : "http://")
        return authority.flatMap { endpoint($0, defaultPort: 4318) }.map { ($0, usesTLS) }
    }

    /// `http://[user[:password]@]host:port` with an optional slash at the end; user and password are percent-encoded.
    static func proxy(_ text: String) -> ProxyAddress? {
        guard let authority = authority(of: text, "http://") else { return nil }
        guard let at = authority.lastIndex(of: "@") else {
            return endpoint(authority, defaultPort: nil).map { ProxyAddress(endpoint: $0) }
        }
        guard let endpoint = endpoint(authority[authority.index(after: at)...], defaultPort: nil) else { return nil }
        let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = decoded(parts[0]), let password = decoded(parts.count > 1 ? parts[1] : ""),
            !user.utf8.contains(UInt8(ascii: ":"))
        else { return nil }
        return ProxyAddress(endpoint: endpoint, user: user, password: password)
    }

    private static func authority(of text: String, _ scheme: String) -> Substring? {
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        let authority = text.dropFirst(scheme.count)
        return authority.hasSuffix("/") ? authority.dropLast() : authority
    }

    /// Decodes percent-encoding; `nil` if it is invalid (RFC 3986, section 2.1) or the result is not UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = Substring(rest.prefix(2))
            guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// `address:port` to listen on, numeric. `localhost` means 127.0.0.1, and port 0 takes any free port.
    package static func listener(_ text: String) -> Endpoint? {
        guard var endpoint = endpoint(text[...], defaultPort: nil) else { return nil }
        if endpoint.host == "localhost" { endpoint.host = "127.0.0.1" }
        return isNumeric(endpoint.host) ? endpoint : nil
    }

    package static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.hasPrefix("127.")
    }

    static func isNumeric(_ host: String) -> Bool {
        var four = in_addr()
        var six = in6_addr()
        return unsafe inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    private static func endpoint(_ text: Substring, defaultPort: UInt16?) -> Endpoint? {
        var host = text
        var port = defaultPort
        var portText: Substring?
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":"), host.contains(":") else { return nil }
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            portText = text[text.index(after: colon)...]
            guard !host.contains(":") else { return nil }
        }
        if let portText {
            guard let number = UInt16(portText), portText.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }) else {
                return nil
            }
            port = number
        }
        let isName = host.utf8.allSatisfy { $0.isLetterOrDigit(or: ".-_:%") }
        guard let port, !host.isEmpty, isName else { return nil }
        return Endpoint(host: String(host), port: port)
    }
}
