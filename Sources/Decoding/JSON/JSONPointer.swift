import Core

/// A location in a JSON document. Source: RFC 6901.
package struct JSONPointer: Equatable, Sendable {
    private let tokens: [[UInt8]]

    /// - Returns: `nil` unless `text` is empty (the complete document) or begins with a slash, and each `~` is `~0` or
    ///   `~1`.
    init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.first == "/" else { return nil }
        var tokens: [[UInt8]] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard !part.replacing("~0", with: "").replacing("~1", with: "").contains("~") else { return nil }
            tokens.append(Array(part.replacing("~1", with: "/").replacing("~0", with: "~").utf8))
        }
        self.tokens = tokens
    }

    /// The value at this location; `nil` if it is absent or `null`.
    func find(in root: JSONPart) -> JSONPart? {
        var part = root
        for token in tokens {
            switch part.kind {
            case .object:
                guard let member = part[token] else { return nil }
                part = member
            case .array:
                guard let index = Self.index(token) else { return nil }
                let elements = part.elements
                guard elements.indices.contains(index) else { return nil }
                part = elements[index]
            default: return nil
            }
        }
        return part.kind == .null ? nil : part
    }

    private static func index(_ token: [UInt8]) -> Int? {
        guard token.count <= 9, token.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            token.count == 1 || token.first != UInt8(ascii: "0")
        else { return nil }
        return Int(String(decoding: token, as: UTF8.self))
    }
}
