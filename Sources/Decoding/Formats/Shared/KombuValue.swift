import Core

/// Values that JSON lacks, as kombu writes them: `{"__type__": "uuid", "__value__": "…"}`.
///
/// They are unwrapped in fields. In a payload they would reach the device: the payload of a task is refused, and any
/// other one is sent with a finding.
///
/// Source: kombu.utils.json, `register_type` and `object_hook`.
enum KombuValue {
    /// The plain value of an object; `nil` if it is an ordinary one.
    static func plain(_ object: JSONPart) -> RequestFields.Value? {
        guard let type = object["__type__"]?.text, let value = object["__value__"] else {
            guard object["__bytes__"] != nil || object["__base64__"] != nil else { return nil }
            return object["bytes"]?.text.map { .text($0) }
        }
        // A UUID is `{"hex": "…"}`.
        guard let text = value.text ?? value["hex"]?.text else {
            // Each level of an object would be read three times, with all that it contains.
            if value.kind == .object { return .other(value.kind.name) }
            return RequestFields.Value(value.value, in: value.document)
        }
        switch String(decoding: type, as: UTF8.self) {
        case "datetime":
            let time = WallTime(rfc3339: text) ?? WallTime(rfc3339: text + [UInt8(ascii: "Z")])
            return time.map { .integer($0.seconds) } ?? .text(text)
        case "decimal": return JSONText.wholeNumber(text).map { .integer($0) } ?? .text(text)
        case "uuid" where text.count == 32: return .text(dashed(text))
        default: return .text(text)
        }
    }

    private static let marks = ["\"__type__\"", "\"__bytes__\"", "\"__base64__\""]

    static let complaint =
        "kombu wrote a value of Python here, which the device would receive; convert it to text or a number"

    /// - Returns: the path of such a value within a payload; `nil` if there is none.
    static func path(in payload: ArraySlice<UInt8>) -> String? {
        // Most payloads have none, and the second underscore is rare.
        let isRare = payload.indices.contains {
            payload[$0] == 0x5F && $0 + 1 < payload.endIndex && payload[$0 + 1] == 0x5F
        }
        guard isRare, marks.contains(where: { payload.firstRange(of: $0.utf8) != nil }) else { return nil }
        return (try? JSONPart(payload)).flatMap(path)
    }

    private static func path(in part: JSONPart) -> String? {
        if plain(part) != nil { return "" }
        for (key, value) in part.kind == .object ? part.members : [] {
            guard let rest = path(in: value) else { continue }
            let isName = key.count <= RequestFields.longestShown && key.allSatisfy { $0.isLetterOrDigit(or: "-_") }
            return isName ? ".\(String(decoding: key, as: UTF8.self))\(rest)" : "[…]\(rest)"
        }
        for (index, element) in part.elements.enumerated() {
            if let rest = path(in: element) { return "[\(index)]\(rest)" }
        }
        return nil
    }

    /// A UUID with hyphens, which `uuid.hex` leaves out.
    private static func dashed(_ digits: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = Array(digits)
        for index in [20, 16, 12, 8] { text.insert(UInt8(ascii: "-"), at: index) }
        return text[...]
    }
}
