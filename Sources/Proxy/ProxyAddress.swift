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
        authorization = user.map { Array("Basic ".utf8) + Self.base64(Array("\($0):\(password)".utf8)) }
    }

    /// Source: RFC 4648, section 4.
    private static func base64(_ bytes: [UInt8]) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(digit <= group.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return text
    }
}

extension ProxyAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(endpoint)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["endpoint": endpoint]) }
}
