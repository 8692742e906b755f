import Core

/// A content type without its parameters. The comparison ignores case.
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
        return type.lowered.equals(name)
    }

    /// - Parameter prefix: in lower case.
    func hasPrefix(_ prefix: StaticString) -> Bool {
        type.prefix(prefix.utf8CodeUnitCount).lowered.equals(prefix)
    }

    /// Whether it is JSON, by name or by suffix. Source: RFC 6839, section 3.1.
    var isJSON: Bool {
        matches("application/json") || type.suffix(5).lowered.equals("+json")
    }
}

extension ArraySlice<UInt8> {
    /// A copy with ASCII capital letters converted to lower case.
    var lowered: [UInt8] {
        map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}
