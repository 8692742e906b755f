import Core

/// A content type without its parameters. Types are compared without regard to case.
///
/// Source: RFC 9110, section 8.3.1.
struct ContentType {
    private let type: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) {
        var type = text.prefix { $0 != UInt8(ascii: ";") }
        while type.last == UInt8(ascii: " ") { type.removeLast() }
        self.type = type
    }

    /// - Parameter name: in lower case.
    func matches(_ name: StaticString) -> Bool {
        guard type.count == name.utf8CodeUnitCount else { return false }
        if type.equals(name) { return true }
        return Self.lowered(type).equals(name)
    }

    /// - Parameter prefix: in lower case.
    func hasPrefix(_ prefix: StaticString) -> Bool {
        Self.lowered(type.prefix(prefix.utf8CodeUnitCount)).equals(prefix)
    }

    /// Whether it is JSON, by itself or by its suffix. Source: RFC 6839, section 3.1.
    var isJSON: Bool {
        matches("application/json") || Self.lowered(type.suffix(5)).equals("+json")
    }

    private static func lowered(_ text: ArraySlice<UInt8>) -> [UInt8] {
        text.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}
