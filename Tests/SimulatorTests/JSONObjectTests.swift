import Core
import Testing

@testable import Simulator

@Suite("A JSON object")
struct JSONObjectTests {
    func parse(_ text: String) -> JSONObject? { JSONObject(Array(text.utf8)[...]) }

    @Test("A valid one has its members as written in the text")
    func members() throws {
        let object = try #require(parse(" { \"a\" : \"x\\\"y\", \"b\":[1,{\"c\":null}] ,\"n\": -1.5e+3, \"i\":42}\n"))
        #expect(object.members.count == 4)
        #expect(object["a"].map { String(decoding: $0.value, as: UTF8.self) } == "x\\\"y")
        #expect(object["b"]?.kind == .array)
        #expect(object["b"].map { String(decoding: $0.value, as: UTF8.self) } == "[1,{\"c\":null}]")
        #expect(object["i"]?.integer == 42)
        #expect(object["n"]?.integer == nil)
        #expect(object["a"]?.kind == .string && object["i"]?.kind == .number)
        #expect(parse("{}")?.members.isEmpty == true)
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", "1", "[]", "null", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":01}", "{\"a\":1.}",
            "{\"a\":-}",
            "{\"a\":1e}", "{\"a\":tru}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\u{1}\"}", "{} {}",
            "{\"a\":\"b}",
            "{\"a\":[1,]}", "{\"a\":[1 2]}", "{\"a\":\"\\u12",
        ])
    func invalid(text: String) {
        #expect(parse(text) == nil)
    }

    @Test("Nesting ends at its limit instead of the stack's")
    func nesting() {
        func nested(_ depth: Int) -> String {
            "{\"a\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        #expect(parse(nested(JSONScanner.maximumDepth - 1)) != nil)
        #expect(parse(nested(JSONScanner.maximumDepth)) == nil)
        #expect(parse(nested(1_000_000)) == nil)
    }
}
