import Core

/// Writes a payload from the fields of another format: every value as it stands in the message, so that no number is
/// read and written again.
package struct PayloadComposer {
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    package init() {
        bytes.reserveCapacity(512)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The object, finished.
    package consuming func end() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Whether no member was written yet.
    var isEmpty: Bool { isFirst }

    /// A member whose value is JSON.
    package mutating func add(_ name: StaticString, json: some Collection<UInt8>) {
        begin()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(name)
        bytes.append("\":")
        bytes.append(contentsOf: json)
    }

    /// Nothing where there is no part.
    package mutating func add(_ name: StaticString, _ part: JSONPart?) {
        if let part { add(name, json: part.raw) }
    }

    /// A member whose value is text.
    package mutating func add(_ name: StaticString, text: ArraySlice<UInt8>) {
        var string: [UInt8] = []
        string.appendJSON(string: text)
        add(name, json: string)
    }

    mutating func add(_ name: StaticString, _ object: consuming PayloadComposer) {
        add(name, json: object.end())
    }

    /// A member with any name.
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
    /// The part, unless it is an empty string: what a format's own library would leave out.
    func filled(_ key: StaticString) -> JSONPart? {
        guard let part = self[key], part.kind != .string || !part.value.range.isEmpty else { return nil }
        return part
    }

    /// Whether a flag is set: `true`, or 1.
    func isSet(_ key: StaticString) -> Bool {
        guard let part = self[key] else { return false }
        return part.isTrue || part.integer == 1
    }

    /// What a field of a request is.
    func value(_ key: StaticString) -> RequestFields.Value {
        guard let part = self[key] else { return .missing }
        return RequestFields.Value(part.value, in: part.document)
    }

    /// The same where an empty string is nothing.
    func filledValue(_ key: StaticString) -> RequestFields.Value {
        filled(key) == nil ? .missing : value(key)
    }
}
