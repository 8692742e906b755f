package import Core

/// The address and credentials in an `amqp` or `amqps` URI.
///
/// Source: rabbitmq.com/docs/uri-spec and /docs/uri-query-parameters, of which only `auth_mechanism` is supported. An
/// empty path means the virtual host `/`; the path `/` means the virtual host with the empty name.
package struct BrokerAddress: Sendable, Equatable {
    package var endpoint: Endpoint
    package var usesTLS: Bool
    package var user: String
    package var password: String
    package var virtualHost: String
    package var mechanism: Mechanism

    /// The authentication mechanism (SASL, RFC 4422).
    package enum Mechanism: String, Sendable {
        case plain = "PLAIN"
        /// The client certificate of the TLS connection. The broker needs `rabbitmq_auth_mechanism_ssl`.
        case external = "EXTERNAL"
    }

    package init(
        endpoint: Endpoint, usesTLS: Bool = false, user: String = "guest", password: String = "guest",
        virtualHost: String = "/", mechanism: Mechanism = .plain
    ) {
        self.endpoint = endpoint
        self.usesTLS = usesTLS
        self.user = user
        self.password = password
        self.virtualHost = virtualHost
        self.mechanism = mechanism
    }

    /// Parses a URI. An error names the invalid part but never repeats the URI, which contains a password.
    package init(_ uri: String) throws(AMQPError) {
        var rest = uri.utf8[...]
        if rest.removePrefix("amqps://") {
            usesTLS = true
        } else if rest.removePrefix("amqp://") {
            usesTLS = false
        } else {
            throw Self.bad("the scheme is neither amqp:// nor amqps://")
        }
        mechanism = .plain
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            mechanism = try Self.mechanism(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if rest.contains(UInt8(ascii: "#")) { throw Self.unsupported }

        let slash = rest.firstIndex(of: UInt8(ascii: "/"))
        virtualHost = "/"
        if let slash {
            let path = rest[rest.index(after: slash)...]
            if path.contains(UInt8(ascii: "/")) {
                throw Self.bad("the virtual host contains a slash: write %2f")
            }
            virtualHost = try Self.decoded(path, "virtual host")
        }

        var authority = slash.map { rest[..<$0] } ?? rest
        user = "guest"
        password = "guest"
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            let credentials = authority[..<at]
            authority = authority[authority.index(after: at)...]
            if let colon = credentials.firstIndex(of: UInt8(ascii: ":")) {
                user = try Self.decoded(credentials[..<colon], "user")
                password = try Self.decoded(credentials[credentials.index(after: colon)...], "password")
            } else {
                user = try Self.decoded(credentials, "user")
            }
        }
        endpoint = try Self.endpoint(authority, defaultPort: usesTLS ? 5671 : 5672)
    }

    private static func mechanism(_ query: Substring.UTF8View) throws(AMQPError) -> Mechanism {
        if query.equals("auth_mechanism=plain") { return .plain }
        if query.equals("auth_mechanism=external") { return .external }
        throw unsupported
    }

    private static var unsupported: AMQPError {
        bad(
            "the only query parameter is auth_mechanism=plain or auth_mechanism=external, without a fragment; "
                + "percent-encode reserved characters")
    }

    private static func endpoint(_ authority: Substring.UTF8View, defaultPort: UInt16) throws(AMQPError) -> Endpoint {
        var host = authority
        var portText: Substring.UTF8View?
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else {
                throw bad("the IPv6 address lacks its closing bracket")
            }
            host = authority[authority.index(after: authority.startIndex)..<end]
            let tail = authority[authority.index(after: end)...]
            if let colon = tail.first {
                guard colon == UInt8(ascii: ":") else { throw bad("only a port may follow the IPv6 address") }
                portText = tail.dropFirst()
            }
        } else if let colon = authority.lastIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            portText = authority[authority.index(after: colon)...]
        }
        var port = defaultPort
        if let portText {
            let isNumber = portText.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard isNumber, let number = UInt16(String(portText) ?? ""), number > 0 else {
                throw bad("the port is not a number between 1 and 65535")
            }
            port = number
        }
        let name = try decoded(host, "host")
        return Endpoint(host: name.isEmpty ? "localhost" : name, port: port)
    }

    private static func decoded(_ text: Substring.UTF8View, _ part: String) throws(AMQPError) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
                throw bad("the \(part) contains a % without two hexadecimal digits")
            }
            bytes.append(high << 4 | low)
        }
        guard let result = String(validating: bytes, as: UTF8.self) else { throw bad("the \(part) is not UTF-8") }
        return result
    }

    private static func bad(_ what: String) -> AMQPError {
        AMQPError(.badAddress, "broker address: \(what)", blame: .local, isTransient: false)
    }
}

extension BrokerAddress: CustomStringConvertible {
    /// The URI without its password.
    package var description: String {
        "\(usesTLS ? "amqps" : "amqp")://\(user)@\(endpoint), virtual host \"\(virtualHost)\""
    }
}

extension BrokerAddress: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(self, children: ["address": description])
    }
}

extension Substring.UTF8View {
    fileprivate mutating func removePrefix(_ prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        guard self.prefix(count).equals(prefix) else { return false }
        self = dropFirst(count)
        return true
    }
}
