import Core
import Testing

@testable import Decoding

/// One key, with Apple's definition of its values.
private struct Row: CustomTestStringConvertible {
    let path: String
    let type: PushType
    let expectation: String
    let good: [String]
    /// Of a valid type, but out of the key's range.
    let bad: [String]

    init(_ path: String, _ type: PushType, _ expectation: String, _ good: [String], not bad: [String] = []) {
        self.path = path
        self.type = type
        self.expectation = expectation
        self.good = good
        self.bad = bad
    }

    var testDescription: String { "\(path) of \(type)" }

    /// A payload that is valid except for the key's value.
    func payload(_ value: String) -> String {
        let parts = path.split(separator: ".").map(String.init)
        var member = "\"\(parts[parts.count - 1])\":\(value)"
        for part in parts.dropFirst().dropLast().reversed() { member = "\"\(part)\":{\(member)}" }
        let others = Self.needed[type, default: []].filter { !$0.hasPrefix("\"\(parts[1])\"") }
        return "{\"aps\":{\((others + [member]).joined(separator: ","))}}"
    }

    private static let needed: [PushType: [String]] = [
        .alert: ["\"badge\":1"], .background: ["\"content-available\":1"],
        .liveactivity: ["\"event\":\"update\"", "\"timestamp\":1", "\"content-state\":{}"],
    ]

    func findings(_ value: String) -> [String] {
        PayloadCheck.findings(in: ArraySlice(payload(value).utf8), for: type, isBroadcast: false).texts
    }
}

@Suite("Payload check: each key")
struct PayloadKeyTests {
    private static let kinds = [
        "an object": "{}", "an array": "[]", "a string": "\"x\"", "a number": "7", "a boolean": "true", "null": "null",
    ]
    private static let text = ["\"\"", "\"Hello\"", "\"\\u00e9\""]
    private static let object = ["{}", "{\"a\":[1,{}]}"]
    private static let fraction = ["0", "1", "0.5", "1.0", "1e-1", "-0", "0.000000000000000000000000000000000001"]
    private static let notFraction = ["-0.1", "1.01", "2", "1e400", "-1e400", "1e99999999999999999999"]
    private static let date = ["0", "1709913600", "1709913600.5", "1.7e9"]
    private static let notDate = ["-1", "1709913600000", "100000000000", "1e400"]
    private static let flag = ["0", "1", "1.0", "1e0"]

    private static let rows = [
        Row("aps.alert", .alert, "an object or a string", text + ["{}", "{\"title\":\"t\"}"]),
        Row("aps.alert", .voip, "an object or a string", text),
        Row("aps.badge", .alert, "a number", ["0", "9", "99999999999999999999"]),
        Row("aps.sound", .alert, "an object or a string", text + ["{}", "{\"critical\":1}"]),
        Row("aps.thread-id", .alert, "a string", text),
        Row("aps.category", .alert, "a string", text),
        Row("aps.content-available", .alert, "the number 0 or 1", flag, not: ["2", "-1", "0.5", "10", "1e400"]),
        Row("aps.content-available", .background, "the number 1", ["1", "1.0"], not: ["0", "2", "-1"]),
        Row("aps.mutable-content", .alert, "the number 0 or 1", flag, not: ["2"]),
        Row("aps.target-content-id", .alert, "a string", text),
        Row(
            "aps.interruption-level", .alert, "passive, active, time-sensitive or critical",
            ["\"passive\"", "\"active\"", "\"time-sensitive\"", "\"critical\"", "\"p\\u0061ssive\""],
            not: ["\"\"", "\"Active\"", "\"timeSensitive\"", "\"urgent\"", "\"critical \""]),
        Row("aps.relevance-score", .alert, "a number from 0 to 1", fraction, not: notFraction),
        Row("aps.relevance-score", .liveactivity, "a number", ["25", "100", "-3.5", "0.5"]),
        Row("aps.filter-criteria", .alert, "a string", text),
        Row("aps.stale-date", .liveactivity, "a number of seconds since 1970", date, not: notDate),
        Row("aps.content-state", .liveactivity, "an object", object),
        Row("aps.timestamp", .liveactivity, "a number of seconds since 1970", date, not: notDate),
        Row(
            "aps.event", .liveactivity, "start, update or end", ["\"update\"", "\"end\""],
            not: ["\"\"", "\"Update\"", "\"stop\"", "\"ended\""]),
        Row("aps.dismissal-date", .liveactivity, "a number of seconds since 1970", date, not: notDate),
        Row("aps.attributes-type", .liveactivity, "a string", text),
        Row("aps.attributes", .liveactivity, "an object", object),
        Row("aps.input-push-channel", .liveactivity, "a string", text),
        Row("aps.input-push-token", .liveactivity, "the number 1", ["1"], not: ["0", "2"]),
        Row("aps.content-changed", .controls, "a boolean", ["true", "false"]),
        Row("aps.content-changed", .widgets, "a boolean", ["true"]),
        Row("aps.alert.title", .alert, "a string", text),
        Row("aps.alert.title", .liveactivity, "an object or a string", text + ["{}", "{\"loc-key\":\"k\"}"]),
        Row("aps.alert.subtitle", .alert, "a string", text),
        Row("aps.alert.body", .alert, "a string", text),
        Row("aps.alert.body", .liveactivity, "an object or a string", text + ["{}", "{\"loc-key\":\"k\"}"]),
        Row("aps.alert.launch-image", .alert, "a string", text),
        Row("aps.alert.title-loc-key", .alert, "a string", text),
        Row("aps.alert.title-loc-args", .alert, "an array of strings", ["[]", "[ ]", "[\"a\"]", "[\"a\" , \"[\"]"]),
        Row("aps.alert.subtitle-loc-key", .alert, "a string", text),
        Row("aps.alert.subtitle-loc-args", .alert, "an array of strings", ["[]", "[\"a\",\"b\"]"]),
        Row("aps.alert.loc-key", .alert, "a string", text),
        Row("aps.alert.loc-args", .alert, "an array of strings", ["[]", "[\"a\",\"b\"]"]),
        Row("aps.alert.sound", .liveactivity, "a string", text),
        Row("aps.alert.title.loc-key", .liveactivity, "a string", text),
        Row("aps.alert.title.loc-args", .liveactivity, "an array of strings", ["[]", "[\"a\",\"b\"]"]),
        Row("aps.alert.body.loc-key", .liveactivity, "a string", text),
        Row("aps.alert.body.loc-args", .liveactivity, "an array of strings", ["[]", "[\"a\",\"b\"]"]),
        Row("aps.sound.critical", .alert, "the number 0 or 1", flag, not: ["2", "-1"]),
        Row("aps.sound.name", .alert, "a string", text),
        Row("aps.sound.volume", .alert, "a number from 0 to 1", fraction, not: notFraction),
    ]

    @Test("A value of the right type and range passes", arguments: rows)
    private func right(row: Row) {
        for value in row.good { #expect(row.findings(value) == [], "\(value)") }
    }

    @Test("A wrong type is reported at its path", arguments: rows)
    private func wrongType(row: Row) {
        // The allowed types, as in JSON.
        let words = row.expectation
        let rightKinds = Self.kinds.filter { kind, value in
            switch kind {
            case "an array": words.hasPrefix("an array")
            case "a number": words.contains("number")
            case "a string":
                (words.hasSuffix("a string") || words.contains("active") || words.contains("start"))
            default: words.contains(kind)
            }
        }
        #expect(!rightKinds.isEmpty && rightKinds.count < Self.kinds.count)
        for (kind, value) in Self.kinds where rightKinds[kind] == nil {
            #expect(
                row.findings(value).first == "payload.\(row.path): expected \(row.expectation), found \(kind)",
                "\(value)")
        }
    }

    @Test("A value out of range is reported at its path, and is not shown", arguments: rows.filter { !$0.bad.isEmpty })
    private func wrongValue(row: Row) {
        for value in row.bad {
            #expect(row.findings(value).first == "payload.\(row.path): expected \(row.expectation)", "\(value)")
        }
    }

    @Test(
        "An element of a wrong type is reported with its index",
        arguments: rows.filter { $0.expectation.hasPrefix("an array") })
    private func wrongElement(row: Row) {
        #expect(row.findings("[\"a\",1]") == ["payload.\(row.path)[1]: expected a string, found a number"])
        #expect(
            row.findings("[{\"a\":[]},\"b\",[null]]") == [
                "payload.\(row.path)[0]: expected a string, found an object",
                "payload.\(row.path)[2][0]: expected an object, an array, a string, a number or a boolean, found null",
                "payload.\(row.path)[2]: expected a string, found an array",
            ])
    }

    @Test("Every row of the tables has a test")
    func everyRow() {
        for table in [PayloadTable.aps, .alert, .title, .body, .sound] {
            for key in table.keys {
                let path = "\(table.path).\(key.name)".dropFirst("payload.".count)
                #expect(
                    Self.rows.contains { $0.path == path && key.scope.contains($0.type) },
                    "\(path) for \(key.scope)")
            }
        }
    }

    @Test("A key is refused outside its push types", arguments: PayloadTable.aps.keys.map { $0.name.description })
    func scope(name: String) {
        let rows = PayloadTable.aps.keys.filter { $0.name.description == name }
        for type in PushType.allCases {
            let text = "{\"aps\":{\"\(name)\":[]}}"
            let found = PayloadCheck.findings(in: ArraySlice(text.utf8), for: type, isBroadcast: false).texts.first
            let isAllowed = rows.contains { $0.scope.contains(type) }
            #expect(
                found?.hasPrefix("payload.aps.\(name): \(isAllowed ? "expected" : "not for push type \(type)")") == true
            )
        }
    }
}
