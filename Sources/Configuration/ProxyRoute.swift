package import Core

/// The HTTP proxy for connections to APNs, and the hosts that it applies to.
package struct ProxyRoute: Sendable, Hashable {
    /// The configuration value for no proxy, which overrides the environment.
    static let noProxy = "none"
    /// The format of a proxy address.
    static let form = "http://user:password@host:port"
    /// The environment variables for a proxy and for the hosts without a proxy; the first one that is set counts.
    static let variables = ["HTTPS_PROXY", "https_proxy"]
    static let exceptionVariables = ["NO_PROXY", "no_proxy"]

    package static let direct = ProxyRoute(proxy: nil, exceptions: [], sparesLoopback: false)

    private let proxy: ProxyAddress?
    private let exceptions: [Substring]
    private let sparesLoopback: Bool

    private init(proxy: ProxyAddress?, exceptions: [Substring], sparesLoopback: Bool) {
        self.proxy = proxy
        self.exceptions = exceptions
        self.sparesLoopback = sparesLoopback
    }

    /// A proxy from the configuration, for all endpoints.
    ///
    /// - Parameter text: already validated.
    init(configured text: String) {
        self.init(proxy: text == Self.noProxy ? nil : Addresses.proxy(text), exceptions: [], sparesLoopback: false)
    }

    /// A proxy from the environment, not for this host or the excepted hosts.
    ///
    /// - Parameter text: the scheme is optional.
    /// - Returns: `nil` if it is not an HTTP proxy.
    init?(inherited text: String, exceptions: [Substring]) {
        guard let proxy = Addresses.proxy(text.contains("://") ? text : "http://\(text)") else { return nil }
        self.init(proxy: proxy, exceptions: exceptions, sparesLoopback: true)
    }

    /// The hosts that the environment excepts from the proxy.
    static func exceptions(_ environment: (String) -> String?) -> [Substring] {
        let list = exceptionVariables.lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
        return list.lowercased().split { $0 == "," || $0.isWhitespace }
    }

    /// The proxy for `endpoint`; `nil` for a direct connection.
    package func proxy(to endpoint: Endpoint) -> ProxyAddress? {
        let host = endpoint.host.lowercased()
        if sparesLoopback, host == "localhost" || Addresses.isLoopback(host) { return nil }
        return exceptions.contains { Self.names($0, host, endpoint.port) } ? nil : proxy
    }

    /// Whether an exception matches a host. It is `*`, a name for itself and its subdomains (optionally with a leading
    /// dot or `*.`), or an address; the port is optional.
    private static func names(_ exception: Substring, _ host: String, _ port: UInt16) -> Bool {
        if exception == "*" { return true }
        var name = exception
        if exception.hasPrefix("["), let bracket = exception.firstIndex(of: "]") {
            name = exception[exception.index(after: exception.startIndex)..<bracket]
            let rest = exception[exception.index(after: bracket)...]
            guard rest.isEmpty || rest == ":\(port)" else { return false }
        } else if let colon = exception.lastIndex(of: ":"), exception.firstIndex(of: ":") == colon {
            guard exception[exception.index(after: colon)...] == "\(port)" else { return false }
            name = exception[..<colon]
        }
        if name.hasPrefix("*.") { name = name.dropFirst(2) }
        if name.hasPrefix(".") { name = name.dropFirst() }
        return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
    }
}
