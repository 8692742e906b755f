import AMQP
import Core
import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite("The archive of dead letters")
struct ArchiveTests {
    // Built anew each time: the leak check does not follow the tagged pointers of a constant of this type.
    private static var odd: FieldTable {
        [
            "boolean": .boolean(true), "false": .boolean(false), "int8": .int8(.min), "uint8": .uint8(.max),
            "int16": .int16(.min), "uint16": .uint16(.max), "int32": .int32(.min), "uint32": .uint32(.max),
            "int64": .int64(.min), "large": .int64(9_007_199_254_740_993), "uint64": .uint64(.max),
            "float": .float(-0.1), "double": .double(0.1), "infinite": .double(-.infinity),
            "nan": .double(Double(bitPattern: 0x7FF8_0000_0000_0123)), "decimal": .decimal(scale: 2, value: 314),
            "text": .string("é\"\\\n\u{0}😀"), "no text": .text([0xFF, 0xFE]), "bytes": .bytes([0, 1, 255]),
            "ascii bytes": .bytes([0x61]), "timestamp": .timestamp(.max), "void": .void, "empty": .array([]),
            "array": .array([.void, .int32(1), .array([.table(["n": .string("")])])]), "at": .timestamp(1_700_000_000),
            "table": .table(["a": .table([:]), "a2": .array([.boolean(true)])]), "": .string("no name"),
        ]
    }

    private func line(_ properties: MessageProperties, _ body: [UInt8] = []) throws -> [UInt8] {
        try ArchivedMessage.line(try DeadLetterSamples.delivery(properties, body: body), from: DeadLetterSamples.queue)
    }

    @Test("A line restores every property, every type of header and every byte of the body")
    func everything() throws {
        var properties = MessageProperties()
        properties.contentEncoding = []
        properties.deliveryMode = 2
        properties.priority = 255
        properties.correlationID = [0xC3, 0x28]
        properties.messageID = Array("m \"1\"".utf8)
        properties.timestamp = .max
        var headers = Self.odd
        headers.entries.append(FieldTable.Entry(name: [0xFF], value: .void))
        headers.entries.append(FieldTable.Entry(name: Array("int8".utf8), value: .string("the name again")))
        properties.headers = headers
        for body in [[], [0], Array((0...255).map { UInt8($0) }), Array("{\"aps\":{}}".utf8)] {
            let line = try line(properties, body)
            #expect(!line.contains(UInt8(ascii: "\n")))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            let shown = object["headers"] as? [String: Any]
            #expect(shown?["int32"] as? Int == Int(Int32.min) && shown?["at"] as? String == "2023-11-14T22:13:20Z")
            let message = try ArchivedMessage(line: line[...])
            #expect(message.body == body && message.delivery.body.elementsEqual(body))
            let encoded = try properties.encoded()
            #expect(message.properties == encoded)
            #expect(message.delivery.messageID?.elementsEqual("m \"1\"".utf8) == true)
        }
        #expect(try ArchivedMessage(line: line(MessageProperties())[...]).delivery.messageID == nil)
        let long = Array((#"{"properties":""# + String(repeating: "A", count: 174_768) + #"","body":""}"#).utf8)
        #expect(throws: Complaint("properties: more than 131072 bytes")) { try ArchivedMessage(line: long[...]) }
    }

    @Test(
        "A damaged line is refused with the reason",
        arguments: [
            ("", "the line: expected a JSON object"), ("[]", "the line: expected a JSON object"),
            ("{}", #"the line: expected "properties""#),
            (#"{"properties":"AAA=","body":"!"}"#, "body: expected base64"),
            (#"{"properties":"AAA=","body":"AA="}"#, "body: expected base64"),
            (#"{"properties":"AAA=","body":1}"#, "body: expected base64"),
            (#"{"properties":"AAA="}"#, #"the line: expected "body""#),
            (#"{"properties":"gAA=","body":""}"#, "properties: "),
        ])
    func damaged(line: String, reason: String) throws {
        let failure = #expect(throws: Complaint.self) { try ArchivedMessage(line: ArraySlice(line.utf8)) }
        #expect(failure?.description.hasPrefix(reason) == true, "\(failure?.description ?? "")")
    }
}
