import Core
import Glibc

/// The addresses that a configuration writes as text.
enum Addresses {
    /// `https://host[:port]`, an optional slash at the end; the port is 443 where it is missing.
    static func service(_ text: String) -> Endpoint? {
        guard text.hasPrefix("https://") else { return nil }
        var authority = text.dropFirst("https://".count)
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        return endpoint(authority, defaultPort: 443)
    }

    /// `address:port` to listen on, numeric; `localhost` is 127.0.0.1, and port 0 takes a free one.
    static func listener(_ text: String) -> Endpoint? {
        guard var endpoint = endpoint(text[...], defaultPort: nil) else { return nil }
        if endpoint.host == "localhost" { endpoint.host = "127.0.0.1" }
        return isNumeric(endpoint.host) ? endpoint : nil
    }

    static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.hasPrefix("127.")
    }

    private static func isNumeric(_ host: String) -> Bool {
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
        let isName = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: ":"), UInt8(ascii: "%"):
                true
            default: false
            }
        }
        guard let port, !host.isEmpty, isName else { return nil }
        return Endpoint(host: String(host), port: port)
    }
}
