/// JSON output for programs; keys keep the given order.
package indirect enum JSONOutput {
    case null
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case array([JSONOutput])
    case object([(String, JSONOutput)])
    /// Already encoded JSON.
    case json(String)

    /// A text, or null.
    package static func optional(_ text: String?) -> JSONOutput {
        text.map { .text($0) } ?? .null
    }

    /// An object with these members, as text.
    package static func text(of members: [(String, JSONOutput)]) -> String {
        JSONOutput.object(members).description
    }
}

extension JSONOutput: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): value.isFinite ? String(value) : "null"
        case .text(let value): Self.quoted(value)
        case .json(let value): value
        case .array(let elements): "[\(elements.map(\.description).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(Self.quoted($0.0)):\($0.1.description)" }.joined(separator: ","))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendJSON(string: ArraySlice(text.utf8))
        return String(decoding: bytes, as: UTF8.self)
    }
}
