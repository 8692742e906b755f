package import Core
import Decoding

/// A value that is never printed: descriptions, interpolations, dumps and mirrors show `<secret>`.
package struct Secret: Sendable, Hashable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    package func reveal() -> String {
        text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A password that is a JSON Web Token (RFC 7519). The broker verifies it; here only its end is read.
package struct AccessToken: Sendable, Equatable {
    /// `exp`; `nil` where the token has none.
    package let expires: WallTime?

    package init?(_ secret: Secret) {
        let parts = secret.reveal().utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, Self.object(parts[0]) != nil, let claims = Self.object(parts[1]) else { return nil }
        // It may have a fraction (section 2). Above 9e12 the arithmetic with milliseconds would overflow.
        guard let exp = claims["exp"], exp.kind == .number,
            let seconds = Double(String(decoding: exp.raw, as: UTF8.self)), (0...9e12).contains(seconds)
        else {
            expires = nil
            return
        }
        expires = WallTime(milliseconds: Int64(seconds) * 1000)
    }

    private static func object(_ part: Substring.UTF8View) -> JSONPart? {
        guard let text = Base64.url.decode(String(Substring(part))), let value = try? JSONPart(text[...]),
            value.raw.first == UInt8(ascii: "{")
        else { return nil }
        return value
    }
}
