import Core
import Foundation
import Logging
import Testing

@testable import Configuration
@testable import Runtime

@Suite("Log lines")
struct LineLogHandlerTests {
    private static let time = WallTime(milliseconds: 1_790_000_000_123)

    private func line(
        _ format: Configuration.Log.Format, _ message: String, _ fields: [(String, String)] = []
    ) -> String {
        LineLogHandler.line(
            format: format, time: Self.time, level: .warning, label: "harebell", message: message,
            fields: fields.map { ($0.0, .string($0.1)) })
    }

    @Test("Text has the time, the level, the message and its fields, quoted where necessary")
    func text() {
        #expect(
            line(.text, "it happened", [("a", "plain"), ("b", "two words"), ("c", ""), ("d", "say \"so\"")])
                == "\(Self.time.rfc3339) warning it happened a=plain b=\"two words\" c=\"\" d=\"say \\\"so\\\"\"\n")
    }

    @Test("JSON has the same content as an object on one line")
    func json() throws {
        let text = line(.json, "it \"happened\"", [("a", "1"), ("b\\", "two\nlines")])
        let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(
            object == [
                "time": Self.time.rfc3339, "level": "warning", "logger": "harebell", "message": "it \"happened\"",
                "a": "1", "b\\": "two\nlines",
            ] && text.hasSuffix("}\n"))
    }

    @Test("Numbers and arrays of an event are numbers and arrays in JSON, and nothing else is")
    func numbers() throws {
        let text = LineLogHandler.line(
            format: .json, time: Self.time, level: .info, label: "l", message: "m",
            fields: [
                ("count", .stringConvertible(18)), ("big", .stringConvertible(UInt64.max)),
                ("seconds", .stringConvertible(0.25)), ("none", .stringConvertible(Double.nan)), ("id", "7"),
                ("list", .array(["a", .stringConvertible(2)])),
            ])
        #expect(
            text.hasSuffix(
                #""count":18,"big":18446744073709551615,"seconds":0.25,"none":"nan","id":"7","list":["a",2]}"# + "\n"))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    }

    @Test("Any event is one line, and JSON restores it", arguments: [Configuration.Log.Format.text, .json])
    func hostile(format: Configuration.Log.Format) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let pieces = [
            "\n", "\r", "\t", "\0", "\u{1B}[31m", "\u{7F}", "\"", "\\", "é", "🔔", "a", " ", "=", "\u{85}", "\u{202E}",
            "\u{2028}", "\u{E0041}",
        ]
        for _ in 0..<500 {
            let value = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            let text = line(format, value, [("field", value)])
            #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 1, "seed \(seed)")
            #expect(!text.unicodeScalars.dropLast().contains(where: ControlCharacters.contains), "seed \(seed)")
            guard format == .json else { continue }
            let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
            #expect(object["message"] == value && object["field"] == value, "seed \(seed)")
        }
    }

    @Test("A full pipe stops nobody: lines are dropped, counted and reported, twice in a row")
    func fullPipe() throws {
        let pipe = Pipe()
        defer { try? pipe.fileHandleForReading.close() }
        var output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let line = String(repeating: "x", count: 199) + "\n"
        var dropped: UInt64 = 0
        for _ in 1...2 {
            var lines = 0
            while output.dropped < dropped + 10, lines < 100_000 {
                output.write(line) { "\($0) dropped\n" }
                lines += 1
            }
            #expect(output.dropped == dropped + 10)
            var read = 0
            while read < (lines - 10) * line.utf8.count { read += pipe.fileHandleForReading.availableData.count }
            output.write(line) { "\($0) dropped\n" }
            let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
            #expect(output.dropped == dropped + 10 && text.hasSuffix("10 dropped\n" + line))
            dropped = output.dropped
        }
        output.write(String(repeating: "y", count: 1 << 20) + "\n") { "\($0) dropped\n" }
        var text = ""
        while !text.hasSuffix(line) {
            text += String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
            output.write(line) { "\($0) dropped\n" }
        }
        #expect(text.contains("y\n1 dropped\n" + line), "a line that was cut off is ended first")
        var (reader, terminal): (Int32, Int32) = (-1, -1)
        let made = unsafe openpty(&reader, &terminal, nil, nil, nil)
        output = LogOutput(descriptor: terminal)
        for _ in 0..<1000 { output.write(line) { "\($0) dropped\n" } }
        #expect(made == 0 && output.dropped > 0, "an unread terminal must not block a write")
    }

    @Test("Text for a terminal is one line without control characters")
    func terminalText() {
        let text = "a\nb\u{1B}[2J\r\t\u{7F}\u{85}\"\\é"
        #expect(ControlCharacters.escaped(text) == "a\\nb\\u001b[2J\\r\\t\\u007f\\u0085\"\\é")
    }

    @Test(
        "Bidirectional controls, line ends and invisible characters are escaped",
        arguments: [
            0x00, 0x0A, 0x1B, 0x7F, 0x85, 0x9B, 0xAD, 0x34F, 0x61C, 0x115F, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E,
            0x200F, 0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069,
            0x206F, 0x3164, 0xFEFF, 0xFFA0, 0xFFF9, 0xE0001, 0xE0041, 0x1D173,
        ] as [UInt32])
    func deceptive(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let text = "a\(Character(scalar))b"
        for escaped in [ControlCharacters.escaped(text), ControlCharacters.escaped(text, quotes: true)] {
            #expect(!escaped.unicodeScalars.contains(scalar) && escaped.hasPrefix("a\\") && escaped.hasSuffix("b"))
        }
        #expect(!line(.text, text, [("field", text)]).unicodeScalars.dropLast().contains(scalar))
        let json = line(.json, text, [("field", text)])
        #expect(!json.unicodeScalars.dropLast().contains(scalar))
        let object = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String])
        #expect(object["message"] == text && object["field"] == text)
    }

    @Test("Text in any script stays unchanged", arguments: ["Grüße", "日本語", "مرحبا", "שלום", "❤️", "한국어", "a\u{301}"])
    func scripts(text: String) {
        #expect(ControlCharacters.escaped(text) == text && ControlCharacters.escaped(json: text) == text)
    }

    @Test("JSON for a terminal is one line with the same content")
    func terminalJSON() throws {
        let json = "{\n\t\"a\": \"x\u{202E}y\u{9B}z\\n\u{E0041}\",\r\n \"b\u{7F}\": 1\n}"
        let escaped = ControlCharacters.escaped(json: json)
        #expect(!escaped.unicodeScalars.contains(where: ControlCharacters.contains))
        let wanted = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
        #expect(try JSONSerialization.jsonObject(with: Data(escaped.utf8)) as? NSDictionary == wanted)
    }

    @Test("Loggers without their own level follow the process's threshold, also while in use")
    func threshold() {
        let threshold = LogThreshold(.info)
        let handler = LineLogHandler(label: "l", threshold: threshold, format: .text) { Self.time }
        var own = handler
        own.logLevel = .error
        for level in Logger.Level.allCases {
            threshold.level = level
            #expect(handler.logLevel == level && own.logLevel == .error)
        }
    }
}
