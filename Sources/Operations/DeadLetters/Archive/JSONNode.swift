import Core
import Decoding

/// JSON as a tree, for rare use.
indirect enum JSONNode {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// Unescaped, as UTF-8.
    case string(ArraySlice<UInt8>)
    case array([JSONNode])
    /// In order; keys may repeat.
    case object([(key: String, node: JSONNode)])

    /// Reads exactly one value; numbers must be integers.
    init(_ text: ArraySlice<UInt8>) throws(ArchiveFailure) {
        do throws(JSONFailure) {
            var scanner = JSONScanner()
            let value = try scanner.value(text.span, depth: 0)
            try scanner.end(text.span)
            self = try Self.node(value, in: text)
        } catch {
            throw ArchiveFailure(description: "expected \(error.expectation) at byte \(error.offset)")
        }
    }

    /// - Parameter value: from a scanner of `text`, which has limited its depth.
    private static func node(_ value: JSONValue, in text: ArraySlice<UInt8>) throws(JSONFailure) -> JSONNode {
        let bytes = text.span
        var scanner = JSONScanner(at: value.range.lowerBound)
        switch value.kind {
        case .null: return .null
        case .boolean: return .boolean(bytes[value.range.lowerBound] == UInt8(ascii: "t"))
        case .number:
            guard let integer = JSONText.integer(text.slice(value.range)) else {
                throw JSONFailure(offset: value.range.lowerBound, expectation: "an integer")
            }
            return .integer(integer)
        case .string:
            guard let string = text.text(of: value) else {
                throw JSONFailure(offset: value.range.lowerBound, expectation: "whole surrogate pairs")
            }
            return .string(string)
        case .array:
            var nodes: [JSONNode] = []
            guard scanner.open(bytes, "[") else { preconditionFailure("an array begins with a bracket") }
            while try scanner.nextElement(bytes, isFirst: nodes.isEmpty) {
                nodes.append(try node(try scanner.value(bytes, depth: 0), in: text))
            }
            return .array(nodes)
        case .object:
            var members: [(key: String, node: JSONNode)] = []
            guard scanner.open(bytes, "{") else { preconditionFailure("an object begins with a brace") }
            while let key = try scanner.nextKey(bytes, isFirst: members.isEmpty) {
                let name = text.text(of: key).map { String(decoding: $0, as: UTF8.self) } ?? ""
                members.append((name, try node(try scanner.value(bytes, depth: 0), in: text)))
            }
            return .object(members)
        }
    }
}
