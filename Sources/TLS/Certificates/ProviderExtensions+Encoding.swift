import COpenSSL
import Core

extension ProviderExtensions {
    /// The extensions with this content, as Apple encodes them.
    package var encoded: [X509Extension] {
        let null = Self.element(V_ASN1_NULL, [])
        var extensions: [X509Extension] = []
        if environments.contains(.development) {
            extensions.append(X509Extension(identifier: Self.development, value: null))
        }
        if environments.contains(.production) {
            extensions.append(X509Extension(identifier: Self.production, value: null))
        }
        guard !topics.isEmpty else { return extensions }
        let list = topics.flatMap { topic in
            Self.text(topic.name) + Self.element(Self.sequence, topic.kinds.flatMap(Self.text))
        }
        extensions.append(X509Extension(identifier: Self.topics, value: Self.element(Self.sequence, list)))
        return extensions
    }

    private static let sequence = V_ASN1_CONSTRUCTED | V_ASN1_SEQUENCE

    private static func text(_ text: String) -> [UInt8] {
        element(V_ASN1_UTF8STRING, Array(text.utf8))
    }

    /// Tag, length and content. Source: X.690, section 8.1.
    private static func element(_ tag: Int32, _ content: [UInt8]) -> [UInt8] {
        precondition(content.count <= 0xFFFF, "an extension of a certificate is short")
        let count = UInt8(truncatingIfNeeded: content.count)
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [count]
            case ..<0x100: [0x81, count]
            default: [0x82, UInt8(content.count >> 8), count]
            }
        return [UInt8(tag)] + length + content
    }
}
