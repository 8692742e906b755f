package import Core

/// Where an HTTP proxy listens, and who we are to it. Never printed with its credentials.
package struct ProxyAddress: Hashable, Sendable {
    package let endpoint: Endpoint
    /// The value of `Proxy-Authorization`. Source: RFC 7617.
    let authorization: [UInt8]?

    /// - Parameters:
    ///   - user: without a colon; `nil` for a proxy that asks nobody who they are.
    ///   - password: as it is, not percent-encoded.
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
