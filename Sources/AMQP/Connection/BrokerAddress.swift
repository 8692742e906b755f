package import Core

/// The address and credentials in an `amqp` or `amqps` URI.
///
/// Source: rabbitmq.com/docs/uri-spec and /docs/uri-query-parameters, of which only `auth_mechanism` is supported. An
/// empty path means the virtual host `/`; the path `/` means the virtual host with the empty name.
package struct BrokerAddress: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package var endpoint: Endpoint
    package var usesTLS = false
    package var user = "guest"
    package var password = "guest"
    package var virtualHost = "/"
    package var mechanism = Mechanism.plain

    /// The authentication mechanism (SASL, RFC 4422).
    package enum Mechanism: String, Sendable {
        case plain = "PLAIN"
        /// The client certificate of the TLS connection. The broker needs `rabbitmq_auth_mechanism_ssl`.
        case external = "EXTERNAL"
    }

    package init(endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    /// Parses a URI. An error names the invalid part but never repeats the URI, which contains a password.
    package init(_ uri: String) throws(AMQPError) {
        usesTLS = uri.hasPrefix("amqps://")
        guard usesTLS || uri.hasPrefix("amqp://") else {
            throw Self.bad("the scheme is neither amqp:// nor amqps://")
        }
        var rest = uri.dropFirst(usesTLS ? "amqps://".count : "amqp://".count)
        if let mark = rest.firstIndex(of: "?") {
            mechanism = try Self.mechanism(rest[mark...])
            rest = rest[..<mark]
        }
        if rest.contains("#") { throw Self.unsupported }

        var authority = rest
        if let slash = rest.firstIndex(of: "/") {
            authority = rest[..<slash]
            let path = rest[slash...].dropFirst()
            if path.contains("/") { throw Self.bad("the virtual host contains a slash: write %2f") }
            virtualHost = try Self.decoded(path, "virtual host")
        }
        if let at = authority.lastIndex(of: "@") {
            let credentials = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            user = try Self.decoded(credentials[0], "user")
            if credentials.count > 1 { password = try Self.decoded(credentials[1], "password") }
            authority = authority[at...].dropFirst()
        }
        guard let endpoint = Endpoint(authority, defaultPort: usesTLS ? 5671 : 5672), endpoint.port > 0 else {
            throw Self.bad("the host or the port is invalid: an IPv6 address needs brackets, a port is from 1 to 65535")
        }
        let host = try Self.decoded(endpoint.host[...], "host")
        self.endpoint = Endpoint(host: host.isEmpty ? "localhost" : host, port: endpoint.port)
    }

    private static func mechanism(_ query: Substring) throws(AMQPError) -> Mechanism {
        switch query {
        case "?auth_mechanism=plain": return .plain
        case "?auth_mechanism=external": return .external
        default: throw unsupported
        }
    }

    private static var unsupported: AMQPError {
        bad(
            "the only query parameter is auth_mechanism=plain or auth_mechanism=external, without a fragment; "
                + "percent-encode reserved characters")
    }

    private static func decoded(_ text: Substring, _ part: String) throws(AMQPError) -> String {
        guard let bytes = PercentEncoding.decode(ArraySlice(text.utf8)) else {
            throw bad("the \(part) contains a % without two hexadecimal digits")
        }
        guard let result = String(validating: bytes, as: UTF8.self) else { throw bad("the \(part) is not UTF-8") }
        return result
    }

    private static func bad(_ what: String) -> AMQPError {
        AMQPError(.badAddress, "broker address: \(what)", isTransient: false)
    }

    /// The URI without its password.
    package var description: String {
        "\(usesTLS ? "amqps" : "amqp")://\(user)@\(endpoint), virtual host \"\(virtualHost)\""
    }

    package var customMirror: Mirror {
        Mirror(self, children: ["address": description])
    }
}
