package import Core
package import Proxy

/// Which of an app's connections go through an HTTP proxy, and through which.
package struct ProxyRoute: Sendable, Hashable {
    /// What a configuration says for no proxy, whatever the environment says.
    static let noProxy = "none"
    /// How a proxy is written.
    static let form = "http://user:password@host:port"
    /// Where the environment names a proxy, and where it names the hosts that are reached without; the first one
    /// counts.
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

    /// A proxy of the configuration: it is for every endpoint.
    ///
    /// - Parameter text: that the rules have found right.
    init(configured text: String) {
        self.init(proxy: text == Self.noProxy ? nil : Addresses.proxy(text), exceptions: [], sparesLoopback: false)
    }

    /// A proxy of the environment: not for the hosts that it excepts, nor for this one.
    ///
    /// - Parameter text: the scheme may be left out.
    /// - Returns: `nil` for what is no HTTP proxy.
    init?(inherited text: String, exceptions: [Substring]) {
        guard let proxy = Addresses.proxy(text.contains("://") ? text : "http://\(text)") else { return nil }
        self.init(proxy: proxy, exceptions: exceptions, sparesLoopback: true)
    }

    /// What the environment names as hosts that are reached without a proxy.
    static func exceptions(_ environment: (String) -> String?) -> [Substring] {
        let list = exceptionVariables.lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
        return list.lowercased().split { $0 == "," || $0.isWhitespace }
    }

    /// The proxy on the way to `endpoint`; `nil` for the direct way.
    package func proxy(to endpoint: Endpoint) -> ProxyAddress? {
        let host = endpoint.host.lowercased()
        if sparesLoopback, host == "localhost" || Addresses.isLoopback(host) { return nil }
        return exceptions.contains { Self.names($0, host, endpoint.port) } ? nil : proxy
    }

    /// Whether an exception means a host: `*`, a name for itself and all below it (with or without a dot or `*.` before
    /// it), or an address, each with or without a port.
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
