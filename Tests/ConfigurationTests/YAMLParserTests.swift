import Testing

@testable import Configuration

extension YAMLNode {
    /// The node in one line, with marks for its shape: `[…]`, `{…}`, and a scalar's style before its text.
    fileprivate var shape: String {
        switch content {
        case .scalar(let scalar): "\(scalar.isPlain ? "plain" : "text"):\(scalar.string)"
        case .sequence(let nodes): "[" + nodes.map(\.shape).joined(separator: ", ") + "]"
        case .mapping(let entries):
            "{" + entries.map { "\($0.key.shape) = \($0.value.shape)" }.joined(separator: ", ") + "}"
        }
    }

    /// This node and its descendants.
    fileprivate var all: [YAMLNode] {
        switch content {
        case .scalar: [self]
        case .sequence(let nodes): [self] + nodes.flatMap(\.all)
        case .mapping(let entries): [self] + entries.flatMap { $0.key.all + $0.value.all }
        }
    }

    fileprivate var height: Int {
        switch content {
        case .scalar: 1
        case .sequence(let nodes): 1 + (nodes.map(\.height).max() ?? 0)
        case .mapping(let entries): 1 + (entries.flatMap { [$0.key.height, $0.value.height] }.max() ?? 0)
        }
    }
}

extension ConfigurationProblem.Location {
    fileprivate var text: String { "\(line):\(column)" }
}

private func parse(_ text: String) throws -> YAMLNode {
    try #require(try YAMLParser.root(of: Array(text.utf8)))
}

/// The error for a text, with its place.
private func problem(_ text: [UInt8]) -> String? {
    let error = #expect(throws: YAMLError.self) { try YAMLParser.root(of: text) }
    return error.map { "\($0.location.text): \($0.message)" }
}

private func problem(_ text: String) -> String? { problem(Array(text.utf8)) }

@Suite("YAML")
struct YAMLParserTests {
    @Test(
        "A scalar is its text and its style, whatever its tag",
        arguments: [
            ("a b", "plain:a b"), ("~", "plain:~"), ("'it''s'", "text:it's"), ("5", "plain:5"),
            (#""a\tb\u00e9\\""#, "text:a\tbé\\"), ("\"\"", "text:"), ("!!str 5", "plain:5"),
            ("|\n  a\n   b\n", "text:a\n b\n"), ("|-\n  a\n", "text:a"), (">\n  a\n  b\n", "text:a b\n"),
            ("---\n", "plain:"), ("a\n  b\n", "plain:a b"), ("\"a\\0b\"", "text:a\0b"),
            ("\u{FEFF}a", "plain:a"), ("%YAML 1.1\n---\na\n...\n", "plain:a"),
        ])
    func scalars(text: String, shape: String) throws {
        #expect(try parse(text).shape == shape)
    }

    @Test("Lists and mappings keep the order of the text, in block and flow style, also after a byte order mark")
    func collections() throws {
        let shape = "{plain:b = [plain:1, text:2], plain:a = {plain:x = plain:}, [plain:k] = text:v}"
        #expect(try parse("\u{FEFF}b:\n  - 1\n  - '2'\na:\n  x:\n? [k]\n: \"v\"\n").shape == shape)
        #expect(try parse("{b: [1, '2'], a: {x: }, [k]: \"v\"}").shape == shape)
        #expect(try parse("[]").shape == "[]" && parse("{}").shape == "{}")
    }

    @Test("Each node has its line and column, counted in characters from one")
    func marks() throws {
        let root = try parse("# é\nkey: [é, \"ü\", x]\r\n日本: {a: t}\nlist:\n  - - y\n")
        let entries = try #require(root.mapping)
        #expect(root.location.text == "2:1")
        #expect(entries.map(\.key.location.text) == ["2:1", "3:1", "4:1"])
        #expect(entries[0].value.all.map(\.location.text) == ["2:6", "2:7", "2:10", "2:15"])
        #expect(entries[1].value.all.map(\.location.text) == ["3:5", "3:6", "3:9"])
        #expect(entries[2].value.all.map(\.location.text) == ["5:3", "5:5", "5:7"])
    }

    @Test("An alias refers to its anchor, with that place")
    func aliases() throws {
        let root = try parse("a: &x [1]\nb: *x\nc: &y 2\nd: {*y : *y}\n")
        #expect(
            root.shape
                == "{plain:a = [plain:1], plain:b = [plain:1], plain:c = plain:2, plain:d = {plain:2 = plain:2}}")
        #expect(root.mapping?[1].value.location.text == "1:4")
        #expect(problem("a: *b\n") == "1:4: found undefined alias")
        #expect(problem("a: &b [*b]\n") == "1:4: more than 64 levels within each other")
        #expect(problem("a: &b 1\nb: &b 2\n")?.contains("found duplicate anchor") == true)
    }

    @Test("Aliases of aliases end at the limit of nodes")
    func laughs() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let list = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(list)]\n"
        }
        #expect(problem(text)?.hasSuffix(": more than 200000 values, those behind aliases included") == true)
        text = "a: &a \(String(repeating: "z", count: 1 << 20))\nb: [\(String(repeating: "*a,", count: 16))]\n"
        #expect(problem(text)?.hasSuffix(": more than 16777216 bytes of text, those behind aliases included") == true)
        // The list `[x, …]` and its elements count, and exactly the limit is still valid.
        let list = Array(repeating: "x", count: YAMLParser.maximumNodes - 1)
        #expect(try parse("[" + list.joined(separator: ",") + "]").all.count == YAMLParser.maximumNodes)
        #expect(
            problem("[" + (list + ["x"]).joined(separator: ",") + "]")?.contains(": more than 200000 values") == true)
    }

    @Test("Nested brackets end at the limit, those behind aliases included")
    func depth() throws {
        func nested(_ levels: Int, _ inner: String) -> String {
            String(repeating: "[", count: levels) + inner + String(repeating: "]", count: levels)
        }
        let most = YAMLParser.maximumDepth - 1
        #expect(try parse(nested(most, "x")).height == YAMLParser.maximumDepth)
        #expect(problem(nested(most + 1, "x")) == "1:65: more than 64 levels within each other")
        #expect(problem(nested(10_000, "x"))?.hasPrefix("1:65: more") == true)
        let half = YAMLParser.maximumDepth / 2
        #expect(try parse("- &a \(nested(half - 1, "x"))\n- \(nested(half - 1, "*a"))\n").height == 2 * half)
        #expect(
            problem("- &a \(nested(half - 1, "x"))\n- \(nested(half, "*a"))\n")?.contains(": more than 64 levels")
                == true)
    }

    @Test(
        "Text that is not YAML is an error with its place, and the text is not quoted",
        arguments: [
            ("a: [\"hunter2\"\nb: }\n", "2:1: while parsing a flow sequence: did not find expected"),
            ("a: \"hunter2\n", "2:1: while scanning a quoted scalar: found unexpected end of stream"),
            ("a: 1\n\tb: 2\n", "2:1: while scanning a plain scalar: found a tab character"),
            ("a: 1\n---\nb: 2\n", "2:1: expected a single document in the stream: but found"),
            ("é: é\u{7}", "1:5: control characters are not allowed"),
            ("a: \"\\ud800\"", "1:7: while parsing a quoted scalar: found invalid Unicode character"),
        ])
    func errors(text: String, expected: String) throws {
        let found = try #require(problem(text))
        #expect(found.hasPrefix(expected))
        #expect(!found.contains("hunter2"))
    }

    @Test("Bytes that are not UTF-8 are an error in their place")
    func encoding() {
        #expect(problem(Array("a: é\nb: ".utf8) + [0xFF])?.hasPrefix("2:4: invalid leading") == true)
        #expect(problem(Array("a: ".utf8) + [0xC3])?.hasPrefix("1:4: incomplete UTF-8") == true)
        #expect(problem([0xFF, 0xFE, 0x61, 0x00])?.hasPrefix("1:1") == true)
        #expect(problem([0x61, 0xED, 0xA0, 0x80]) != nil)
    }
}
