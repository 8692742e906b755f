import Core

/// Writes a payload from the fields of another format. Values are copied unchanged from the message, so that numbers
/// are not reformatted.
package struct PayloadComposer {
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    package init() {
        bytes.reserveCapacity(512)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The completed object.
    package consuming func end() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Whether no member has been written.
    var isEmpty: Bool { isFirst }

    /// Adds a member whose value is JSON.
    package mutating func add(_ name: StaticString, json: some Collection<UInt8>) {
        begin()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(name)
        bytes.append("\":")
        bytes.append(contentsOf: json)
    }

    /// Adds a member, unless `part` is `nil`.
    package mutating func add(_ name: StaticString, _ part: JSONPart?) {
        if let part { add(name, json: part.raw) }
    }

    /// Adds a member whose value is text.
    package mutating func add(_ name: StaticString, text: ArraySlice<UInt8>) {
        var string: [UInt8] = []
        string.appendJSON(string: text)
        add(name, json: string)
    }

    mutating func add(_ name: StaticString, _ object: consuming PayloadComposer) {
        add(name, json: object.end())
    }

    /// Adds a member with any name.
    mutating func add(key: ArraySlice<UInt8>, json: some Collection<UInt8>) {
        begin()
        bytes.appendJSON(string: key)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: json)
    }

    private mutating func begin() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }
}

extension JSONMembers {
    /// The part, unless it is an empty string, which the format's own library would omit.
    func filled(_ key: StaticString) -> JSONPart? {
        guard let part = self[key], part.kind != .string || !part.value.range.isEmpty else { return nil }
        return part
    }

    /// Whether a flag is set: `true`, or 1.
    func isSet(_ key: StaticString) -> Bool {
        guard let part = self[key] else { return false }
        return part.isTrue || part.integer == 1
    }

    /// The value for a field of a request.
    func value(_ key: StaticString) -> RequestFields.Value {
        guard let part = self[key] else { return .missing }
        return RequestFields.Value(part.value, in: part.document)
    }

    /// The value for a field, where an empty string counts as missing.
    func filledValue(_ key: StaticString) -> RequestFields.Value {
        filled(key) == nil ? .missing : value(key)
    }
}
