/// The endpoint and credentials of an HTTP proxy. Credentials are never printed.
package struct ProxyAddress: Hashable, Sendable {
    package let endpoint: Endpoint
    /// The value of `Proxy-Authorization`. Source: RFC 7617.
    package let authorization: [UInt8]?

    /// - Parameters:
    ///   - user: without a colon; `nil` for a proxy without authentication.
    ///   - password: not percent-encoded.
    package init(endpoint: Endpoint, user: String? = nil, password: String = "") {
        precondition(user?.utf8.contains(UInt8(ascii: ":")) != true, "a user's name ends at the first colon")
        self.endpoint = endpoint
        authorization = user.map {
            Array("Basic \(Base64.standard.encode(Array("\($0):\(password)".utf8)))".utf8)
        }
    }
}

extension ProxyAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(endpoint)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["endpoint": endpoint]) }
}
