import Core
package import TLS

extension ProviderExtensions {
    /// The extensions with this content, as Apple encodes them.
    package var encoded: [X509Extension] {
        var extensions: [X509Extension] = []
        if environments.contains(.development) {
            extensions.append(X509Extension(identifier: "1.2.840.113635.100.6.3.1", value: Self.null))
        }
        if environments.contains(.production) {
            extensions.append(X509Extension(identifier: "1.2.840.113635.100.6.3.2", value: Self.null))
        }
        guard !topics.isEmpty else { return extensions }
        let list = topics.flatMap { Self.text($0.name) + Self.sequence($0.kinds.flatMap(Self.text)) }
        return extensions + [X509Extension(identifier: "1.2.840.113635.100.6.3.6", value: Self.sequence(list))]
    }

    private static let null: [UInt8] = [0x05, 0x00]

    private static func sequence(_ content: [UInt8]) -> [UInt8] {
        element(0x30, content)
    }

    private static func text(_ text: String) -> [UInt8] {
        element(0x0C, Array(text.utf8))
    }

    /// Tag, length and content. Source: X.690, section 8.1.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        precondition(content.count <= 0xFFFF, "an extension of a certificate is short")
        let count = UInt8(truncatingIfNeeded: content.count)
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [count]
            case ..<0x100: [0x81, count]
            default: [0x82, UInt8(content.count >> 8), count]
            }
        return [tag] + length + content
    }
}
