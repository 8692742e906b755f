package import Core
import Glibc

package enum Addresses {
    /// `https://host[:port]` with an optional slash at the end; the default port is 443.
    static func service(_ text: String) -> Endpoint? {
        authority(of: text, "https://").flatMap { endpoint($0, defaultPort: 443) }
    }

    /// `http://host[:port]` or `https://…`, an optional slash at the end; the port is OTLP's where it is missing.
    static func collector(_ text: String) -> (endpoint: Endpoint, usesTLS: Bool)? {
        let usesTLS = text.lowercased().hasPrefix("https://")
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
        guard let user = PercentEncoding.decode(parts[0]),
            let password = PercentEncoding.decode(parts.count > 1 ? parts[1] : ""),
            !user.utf8.contains(UInt8(ascii: ":"))
        else { return nil }
        return ProxyAddress(endpoint: endpoint, user: user, password: password)
    }

    private static func authority(of text: String, _ scheme: String) -> Substring? {
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        let authority = text.dropFirst(scheme.count)
        return authority.hasSuffix("/") ? authority.dropLast() : authority
    }

    /// `address:port` to listen on, numeric. `localhost` means 127.0.0.1, and port 0 takes any free port.
    package static func listener(_ text: String) -> Endpoint? {
        guard var endpoint = Endpoint(text[...], defaultPort: nil) else { return nil }
        if endpoint.host == "localhost" { endpoint.host = "127.0.0.1" }
        var four = in_addr()
        var six = in6_addr()
        let isNumeric =
            unsafe inet_pton(AF_INET, endpoint.host, &four) == 1 || inet_pton(AF_INET6, endpoint.host, &six) == 1
        return isNumeric ? endpoint : nil
    }

    package static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.hasPrefix("127.")
    }

    private static func endpoint(_ text: Substring, defaultPort: UInt16?) -> Endpoint? {
        Endpoint(text, defaultPort: defaultPort).flatMap { $0.host.isEmpty || $0.port == 0 ? nil : $0 }
    }
}
