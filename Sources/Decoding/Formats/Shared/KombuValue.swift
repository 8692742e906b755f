import Core

/// Values that JSON lacks, as kombu writes them: `{"__type__": "uuid", "__value__": "…"}`.
///
/// They are unwrapped in fields. In a payload they would reach the device, so they are refused.
enum KombuValue {
    private static let marks = ["\"__type__\"", "\"__bytes__\"", "\"__base64__\""]

    static func isIn(_ part: JSONPart) -> Bool {
        let text = part.raw
        // Most arguments have none, and the second underscore is rare.
        guard text.indices.contains(where: { text[$0] == 0x5F && $0 + 1 < text.endIndex && text[$0 + 1] == 0x5F })
        else { return false }
        return marks.contains { text.firstRange(of: $0.utf8) != nil }
    }

    /// The same JSON with plain values.
    ///
    /// - Parameter place: its pointer, for errors.
    static func unwrapped(_ part: JSONPart, at place: String) throws(DecodingFailure) -> [UInt8] {
        var json: [UInt8] = []
        try append(part, at: place, isPayload: false, to: &json)
        return json
    }

    private static func append(
        _ part: JSONPart, at place: String, isPayload: Bool, to json: inout [UInt8]
    ) throws(DecodingFailure) {
        switch part.kind {
        case .object:
            let members = part.members
            if let value = try value(members, at: place, isPayload: isPayload) { return json += value }
            for (index, member) in members.enumerated() {
                json.append(index == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
                json.appendJSON(string: member.key)
                json.append(UInt8(ascii: ":"))
                let key =
                    member.key.allSatisfy { $0.isLetterOrDigit(or: "-_") }
                    ? String(decoding: member.key.prefix(64), as: UTF8.self) : "…"
                try append(
                    member.part, at: "\(place)/\(key)", isPayload: isPayload || member.key.equals("payload"),
                    to: &json)
            }
            json.append(contentsOf: members.isEmpty ? "{}".utf8 : "}".utf8)
        case .array:
            json.append(UInt8(ascii: "["))
            for (index, element) in part.elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                try append(element, at: "\(place)/\(index)", isPayload: isPayload, to: &json)
            }
            json.append(UInt8(ascii: "]"))
        default: json += part.raw
        }
    }

    /// The plain value of an object; `nil` if it is an ordinary one.
    ///
    /// Source: kombu.utils.json, `register_type` and `object_hook`.
    private static func value(
        _ members: [(key: ArraySlice<UInt8>, part: JSONPart)], at place: String, isPayload: Bool
    ) throws(DecodingFailure) -> [UInt8]? {
        func member(_ key: StaticString) -> JSONPart? { members.last { $0.key.equals(key) }?.part }
        var text: ArraySlice<UInt8>?
        var type: ArraySlice<UInt8> = ArraySlice("bytes".utf8)
        if let name = member("__type__")?.text, let value = member("__value__") {
            (type, text) = (name, value.text ?? value.raw)
        } else if member("__bytes__") != nil || member("__base64__") != nil {
            text = member("bytes")?.text
        }
        guard let text else { return nil }
        guard !isPayload else {
            throw DecodingFailure(
                "\(place): kombu wrote a value of Python's type \(RequestFields.quoted(type)), which the device would "
                    + "receive; convert it to text or a number")
        }
        var json: [UInt8] = []
        switch String(decoding: type, as: UTF8.self) {
        case "datetime":
            let isZoned = WallTime(rfc3339: text) != nil
            guard let time = WallTime(rfc3339: isZoned ? Array(text) : Array(text) + [UInt8(ascii: "Z")]) else {
                throw DecodingFailure("\(place): expected a date and time in ISO 8601")
            }
            json.append(decimal: Int(time.seconds))
        case "decimal" where JSONText.wholeNumber(text) != nil: json += text
        case "uuid" where text.count == 32: json.appendJSON(string: dashed(text))
        default: json.appendJSON(string: text)
        }
        return json
    }

    /// A UUID with hyphens, which `uuid.hex` leaves out.
    private static func dashed(_ digits: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text: [UInt8] = []
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(digit)
        }
        return text[...]
    }
}
