import Core

/// JSON output for programs; keys keep the given order.
package indirect enum JSONOutput: CustomStringConvertible {
    case null
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case array([JSONOutput])
    case object([(String, JSONOutput)])
    /// Already encoded JSON.
    case json(String)

    package static func optional(_ text: String?) -> JSONOutput {
        text.map { .text($0) } ?? .null
    }

    /// Bytes as text, or null.
    package static func bytes(_ bytes: ArraySlice<UInt8>?) -> JSONOutput {
        .optional(bytes.map { String(decoding: $0, as: UTF8.self) })
    }

    package func append(to json: inout [UInt8]) {
        switch self {
        case .null: json.append("null")
        case .boolean(let value): json.append(value ? "true" : "false")
        case .integer(let value): json.append(decimal: value)
        case .number(let value): json.append(contentsOf: (value.isFinite ? String(value) : "null").utf8)
        case .text(let value): json.appendJSON(string: ArraySlice(value.utf8))
        case .json(let value): json.append(contentsOf: value.utf8)
        case .array(let elements):
            json.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                element.append(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .object(let members):
            json.append(UInt8(ascii: "{"))
            for (index, (name, value)) in members.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                json.appendJSON(string: ArraySlice(name.utf8))
                json.append(UInt8(ascii: ":"))
                value.append(to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    package var description: String {
        var json: [UInt8] = []
        append(to: &json)
        return String(decoding: json, as: UTF8.self)
    }
}
