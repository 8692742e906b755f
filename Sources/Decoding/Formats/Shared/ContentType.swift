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
        type.equals(name) || type.equals(lowerCase: name)
    }

    /// - Parameter prefix: in lower case.
    func hasPrefix(_ prefix: StaticString) -> Bool {
        type.prefix(prefix.utf8CodeUnitCount).equals(lowerCase: prefix)
    }

    /// Whether it names a format that is neither JSON nor text, so that the body cannot be a request.
    var isForeign: Bool {
        guard let slash = type.firstIndex(of: UInt8(ascii: "/")), slash > type.startIndex else { return false }
        let subtype = type[(slash + 1)...]
        return Self.foreignTypes.contains { type[..<slash].equals(lowerCase: $0) } || Self.isForeign(subtype)
            || subtype.prefix(2).equals(lowerCase: "x-") && Self.isForeign(subtype.dropFirst(2))
            || subtype.indices.contains { subtype[$0] == UInt8(ascii: "+") && Self.isForeign(subtype[($0 + 1)...]) }
    }

    private static func isForeign(_ name: ArraySlice<UInt8>) -> Bool {
        foreignSubtypes.contains { name.equals(lowerCase: $0) }
    }

    private static let foreignTypes: [StaticString] = ["audio", "font", "image", "multipart", "video"]
    /// Also with the prefix `x-`, and as suffixes after a plus sign.
    private static let foreignSubtypes: [StaticString] = [
        "avro", "bson", "cbor", "csv", "form-urlencoded", "gzip", "html", "java-serialized-object", "messagepack",
        "msgpack", "pdf", "pickle", "protobuf", "python-serialize", "vnd.apache.thrift.binary", "vnd.google.protobuf",
        "vnd.masstransit+json", "vnd.msgpack", "www-form-urlencoded", "xml", "yaml", "zip",
    ]

    var isOurs: Bool {
        Self.ours.contains { matches($0) }
    }

    private static let ours: [StaticString] = [
        "application/json", "application/vnd.apple.apns+json", "application/vnd.harebell.request+json",
        "application/cloudevents+json",
    ]
}

extension UInt8 {
    fileprivate var lowered: UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self }
}

extension Span<UInt8> {
    /// A copy with ASCII capital letters converted to lower case.
    var lowered: [UInt8] { indices.map { self[$0].lowered } }
}

extension ArraySlice<UInt8> {
    var lowered: [UInt8] { span.lowered }

    /// Compares without case. Nothing is copied.
    fileprivate func equals(lowerCase name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { unsafe elementsEqual($0) { $0.lowered == $1 } }
    }
}
