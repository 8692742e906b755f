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
            "array": .array([.void, .int32(1), .array([.table(["n": .string("")])])]),
            "table": .table(["a": .table([:]), "a2": .array([.boolean(true)])]), "": .string("no name"),
        ]
    }

    private func roundTrip(_ properties: MessageProperties, _ body: [UInt8]) throws -> ArchivedMessage {
        let line = try ArchivedMessage(
            try DeadLetterSamples.delivery(properties, body: body), from: DeadLetterSamples.queue
        ).line
        #expect(!line.contains(UInt8(ascii: "\n")))
        #expect(try JSONSerialization.jsonObject(with: Data(line)) is [String: Any], "foreign readers take it")
        return try ArchivedMessage(line: line[...])
    }

    @Test("A line restores every property, every type of header and every byte of the body")
    func everything() throws {
        var properties = MessageProperties()
        properties.contentType = Array("application/json".utf8)
        properties.contentEncoding = []
        properties.deliveryMode = 2
        properties.priority = 255
        properties.correlationID = [0xC3, 0x28]
        properties.replyTo = Array("replies".utf8)
        properties.expiration = Array("60000".utf8)
        properties.messageID = Array("m \"1\"".utf8)
        properties.timestamp = .max
        properties.type = Array("t".utf8)
        properties.userID = Array("guest".utf8)
        properties.appID = Array("a".utf8)
        properties.clusterID = Array("c".utf8)
        var headers = Self.odd
        headers.entries.append(FieldTable.Entry(name: [0xFF], value: .void))
        headers.entries.append(FieldTable.Entry(name: Array("int8".utf8), value: .string("the name again")))
        properties.headers = headers
        for body in [[], [0], Array((0...255).map { UInt8($0) }), Array("{\"aps\":{}}".utf8)] {
            let message = try roundTrip(properties, body)
            #expect(message.body == body)
            // Compared in encoded form, because a NaN is not equal to itself.
            let (before, after) = (try properties.encoded(), try message.properties.encoded())
            #expect(before == after)
        }
        #expect(try roundTrip(MessageProperties(), []).properties == MessageProperties())
    }

    @Test("In random walks the decoded message equals the original")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            var properties = MessageProperties()
            properties.headers = Self.table(&random, depth: 1)
            let body = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            let message = try roundTrip(properties, body)
            #expect(message.body == body, "seed \(seed)")
            let (before, after) = (try properties.encoded(), try message.properties.encoded())
            #expect(before == after, "seed \(seed)")
        }
    }

    private static func table(_ random: inout SplitMix64, depth: Int) -> FieldTable {
        FieldTable(
            (0..<Int.random(in: 0...4, using: &random)).map { _ in
                FieldTable.Entry(name: text(&random), value: value(&random, depth: depth))
            })
    }

    private static func text(_ random: inout SplitMix64) -> [UInt8] {
        (0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private static func value(_ random: inout SplitMix64, depth: Int) -> FieldValue {
        let word = random.next()
        switch Int.random(in: 0..<(depth < 8 ? 18 : 16), using: &random) {
        case 0: return .boolean(word & 1 == 1)
        case 1: return .int8(Int8(truncatingIfNeeded: word))
        case 2: return .uint8(UInt8(truncatingIfNeeded: word))
        case 3: return .int16(Int16(truncatingIfNeeded: word))
        case 4: return .uint16(UInt16(truncatingIfNeeded: word))
        case 5: return .int32(Int32(truncatingIfNeeded: word))
        case 6: return .uint32(UInt32(truncatingIfNeeded: word))
        case 7: return .int64(Int64(truncatingIfNeeded: word))
        case 8: return .uint64(word)
        case 9: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: word)))
        case 10: return .double(Double(bitPattern: word))
        case 11: return .decimal(scale: UInt8(truncatingIfNeeded: word), value: UInt32(truncatingIfNeeded: word >> 8))
        case 12: return .text(text(&random))
        case 13: return .bytes(text(&random))
        case 14: return .timestamp(word)
        case 15: return .void
        case 16: return .array((0..<3).map { _ in value(&random, depth: depth + 1) })
        default: return .table(table(&random, depth: depth + 1))
        }
    }

    @Test("A published message is persistent, without properties for which the broker drops, refuses or reroutes it")
    func publication() throws {
        var properties = MessageProperties()
        properties.deliveryMode = 1
        properties.expiration = Array("5".utf8)
        properties.userID = Array("somebody".utf8)
        properties.headers = [
            "CC": .array([.string("x")]), "x-delivery-count": .int64(4),
            "x-death": .array([DeadLetterSamples.death("push.requests", "expired")]),
        ]
        let delivery = try roundTrip(properties, [1]).delivery
        let letter = DeadLetter(delivery, in: "push.dead")
        let publication = try ReplayEncoder.copy(delivery, letter, to: "push.dead")
        #expect(publication.properties.deliveryMode == 2 && publication.mandatory)
        #expect(publication.properties.expiration == nil && publication.properties.userID == nil)
        let headers = publication.properties.headers ?? FieldTable()
        #expect(headers["CC"] == nil && headers["x-delivery-count"] == nil)
        #expect(headers["x-death"] != nil, "it says where a replay goes")
    }

    @Test(
        "A damaged line is refused with the reason",
        arguments: [
            ("", "the line: The given data was not valid JSON."),
            ("[]", "the line: Expected to decode Dictionary<String, Any> but found an array instead."),
            ("{}", #"the line: expected "body""#), (#"{"properties":{},"body":"!"}"#, "body: expected base64"),
            (#"{"properties":{},"body":"AA="}"#, "body: expected base64"),
            (#"{"properties":{},"body":"AAA"}"#, "body: expected base64"),
            (#"{"properties":{},"body":"AB=="}"#, "body: expected base64"),
            (#"{"properties":{"priority":256},"body":""}"#, "properties.priority: expected an integer from 0 to 255"),
            (#"{"properties":{"color":"red"},"body":""}"#, #"properties: "color" is not known"#),
            (#"{"properties":{},"body":"","extra":1}"#, #"the line: "extra" is not known"#),
            (
                #"{"properties":{},"headers":[{"name":"a","type":"int8","value":128}],"body":""}"#,
                "headers[0].value: expected an integer from -128 to 127"
            ),
            (
                #"{"properties":{},"headers":[{"name":"a","type":"odd","value":1}],"body":""}"#,
                "headers[0]: expected a type of AMQP"
            ),
            (
                #"{"properties":{},"headers":[{"name":"a","type":"int64","value":1}],"body":""}"#,
                "headers[0].value: Expected to decode String but found number instead."
            ),
        ])
    func damaged(line: String, reason: String) throws {
        let failure = #expect(throws: ArchiveFailure.self) { try ArchivedMessage(line: ArraySlice(line.utf8)) }
        #expect(failure?.description == reason)
    }

    @Test("Any single byte lost or changed is detected, or changes only text")
    func fuzz() throws {
        let line = try ArchivedMessage(
            try DeadLetterSamples.delivery(Self.odd), from: DeadLetterSamples.queue
        ).line
        var refused = 0
        for index in line.indices {
            var shorter = line
            shorter.remove(at: index)
            do throws(ArchiveFailure) {
                _ = try ArchivedMessage(line: shorter[...])
            } catch {
                refused += 1
            }
        }
        #expect(refused > line.count / 2)
    }
}
