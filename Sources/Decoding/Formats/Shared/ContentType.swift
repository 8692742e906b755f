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

    /// Whether it names a format that is neither JSON nor text, so that the body cannot be a request.
    var isForeign: Bool {
        // The usual type, on the message path.
        if matches("application/json") { return false }
        let name = String(decoding: type.lowered, as: UTF8.self)
        let parts = name.split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        return ["audio", "font", "image", "multipart", "video"].contains(parts[0])
            || Self.foreign.contains { parts[1] == $0 || parts[1] == "x-\($0)" || parts[1].hasSuffix("+\($0)") }
    }

    private static let foreign = [
        "avro", "bson", "cbor", "csv", "form-urlencoded", "gzip", "html", "java-serialized-object", "messagepack",
        "msgpack", "pdf", "pickle", "protobuf", "python-serialize", "vnd.apache.thrift.binary", "vnd.google.protobuf",
        "vnd.masstransit+json", "vnd.msgpack", "www-form-urlencoded", "xml", "yaml", "zip",
    ]

    /// Whether it is JSON, by name or by suffix. Source: RFC 6839, section 3.1.
    var isJSON: Bool {
        matches("application/json") || type.suffix(5).lowered.equals("+json")
    }
}

extension Span<UInt8> {
    /// A copy with ASCII capital letters converted to lower case.
    var lowered: [UInt8] {
        indices.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self[$0] ? self[$0] | 0x20 : self[$0] }
    }
}

extension ArraySlice<UInt8> {
    /// A copy with ASCII capital letters converted to lower case.
    var lowered: [UInt8] { span.lowered }
}
