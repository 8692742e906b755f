import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Decoding
@testable import Pipeline

@Suite("Headers of ours in deliveries")
struct OwnHeadersTests {
    private static let run = "123e4567-e89b-12d3-a456-426655440000"
    private let own: OwnHeaders

    init() throws {
        var settings = PipelineSettings(try World.configuration { $0.retry.maximumAttempts = 6 }, worker: "w")
        settings.queues.append(
            PipelineQueue(name: "push.other", decoder: AutoDecoder(), decoderName: "auto", prefetch: 1))
        own = OwnHeaders(settings)
    }

    private enum Source: CaseIterable {
        case producer, retryQueue, replay, deadLetter

        var marks: FieldTable {
            switch self {
            case .producer: [:]
            case .retryQueue:
                [
                    "x-death": .array([DeadLetterSamples.death("push.requests.retry.900s", "expired")]),
                    "harebell-parked": .int32(1),
                ]
            case .replay: ["harebell-replays": .int32(1), "harebell-replay-id": .string(OwnHeadersTests.run)]
            case .deadLetter:
                ["harebell-replays": .int32(0), "harebell-failed-at": .string("2026-11-21T22:27:40Z")]
            }
        }
    }

    /// The headers left over, after a check that the properties agree.
    private func left(_ headers: FieldTable) throws -> FieldTable {
        let screened = own.screened(try DeadLetterSamples.delivery(headers))
        let properties = try MessageProperties(decoding: screened.rawProperties)
        #expect(properties.messageID == Array("m-1".utf8))
        var names: [ArraySlice<UInt8>] = []
        screened.forEachHeader { name, _ in names.append(name) }
        #expect(names == (properties.headers?.entries ?? []).map { $0.name[...] })
        #expect(screened.body.elementsEqual("{}".utf8) && screened.headerCount == names.count)
        return properties.headers ?? FieldTable()
    }

    private func keeps(_ name: String, _ value: FieldValue, from source: Source) throws -> Bool {
        var headers = source.marks
        headers[name] = value
        return try left(headers)[name] == value
    }

    @Test("Our headers are believed in a retry copy or a replay, and nowhere else")
    func plausible() throws {
        let ofRetries: FieldTable = [
            "harebell-parked": .int32(3), "harebell-deferred": .int32(2), "harebell-attempts": .int32(99),
            "harebell-processed": .string("unknown"), "harebell-expires-at": .int64(1_795_300_000_000),
        ]
        let ofBoth: FieldTable = [
            "harebell-queue": .string("push.other"), "harebell-exchange": .text([UInt8](repeating: 0x61, count: 255)),
            "harebell-routing-key": .string("push.a"), "harebell-first-seen": .string("2026-11-21T22:00:00Z"),
            "harebell-done": .string("05"), "harebell-apns-id": .string(Self.run), "harebell-replays": .int32(4),
            "harebell-replay-id": .string(Self.run), "harebell-orig-expiration": .string("60000"),
            "harebell-orig-user-id": .string("guest"), "harebell-orig-cc": .array([.string("other")]),
        ]
        for entry in ofRetries.entries + ofBoth.entries {
            let name = String(decoding: entry.name, as: UTF8.self)
            let isOfBoth = ofBoth[name] != nil
            #expect(try !keeps(name, entry.value, from: .producer), "\(name)")
            #expect(try keeps(name, entry.value, from: .retryQueue), "\(name)")
            #expect(try keeps(name, entry.value, from: .replay) == isOfBoth, "\(name)")
            #expect(try keeps(name, entry.value, from: .deadLetter) == isOfBoth, "\(name)")
        }
    }

    @Test("A value that none of our copies can have is not believed, whatever origin it claims")
    func implausible() throws {
        let values: [(String, [FieldValue])] = [
            ("harebell-attempts", [.int64(.max), .int64(.min), .int32(-1), .int32(100), .string("3"), .boolean(true)]),
            ("harebell-deferred", [.int64(.max), .int32(-1), .string("1")]),
            ("harebell-processed", [.string("no"), .string("perhaps"), .int32(1)]),
            ("harebell-expires-at", [.int64(.min), .int64(253_402_300_800_000), .int32(-1), .string("5")]),
            ("harebell-queue", [.string("victim.payments"), .string(""), .int32(1)]),
            ("harebell-exchange", [.text([UInt8](repeating: 0x61, count: 256)), .int32(1)]),
            ("harebell-routing-key", [.text([UInt8](repeating: 0x61, count: 256))]),
            ("harebell-first-seen", [.string("yesterday"), .int32(1)]), ("harebell-done", [.int32(1)]),
            ("harebell-apns-id", [.string("me")]), ("harebell-orig-expiration", [.int32(1)]),
            // A dead letter has these; a delivery has no outcome yet.
            ("harebell-outcome", [.string("accepted")]), ("harebell-worker", [.string("w")]),
            ("harebell-failed-at", [.string("2026-11-21T22:00:00Z")]), ("harebell-of-mine", [.boolean(true)]),
            ("harebell-", [.boolean(true)]),
        ]
        for (name, values) in values {
            for value in values {
                for source in Source.allCases {
                    #expect(try !keeps(name, value, from: source), "\(name) \(value) \(source)")
                }
            }
        }
    }

    @Test("Only an expiration in a retry queue of the same request queue counts as a wait")
    func foreignDeaths() throws {
        let deaths: [FieldValue] = [
            .array([DeadLetterSamples.death("push.requests.retry.900s", "rejected")]),
            .array([DeadLetterSamples.death("push.other.retry.900s", "expired")]),
            .array([DeadLetterSamples.death("push.requests.retry.s", "expired")]),
            .array([DeadLetterSamples.death("push.requests.retry.900", "expired")]),
            .array([DeadLetterSamples.death("push.requests", "expired")]), .array([.int32(1)]), .string("expired"),
            .array([.table(["queue": .int32(1), "reason": .string("expired")])]),
        ]
        for death in deaths {
            let headers: FieldTable = [
                "x-death": death, "harebell-parked": .int32(1), "harebell-attempts": .int32(2), "mine": .int32(3),
            ]
            #expect(try left(headers) == ["x-death": death, "mine": .int32(3)], "\(death)")
        }
        // A message that also died elsewhere, after or before, has waited all the same.
        let several: FieldTable = [
            "x-death": .array([
                DeadLetterSamples.death("push.requests", "rejected"),
                DeadLetterSamples.death("push.requests.retry.5s", "expired"),
            ]), "harebell-parked": .int32(1), "harebell-attempts": .int32(2),
        ]
        #expect(try left(several) == several)
        for parked in [FieldValue.int32(0), .int32(-1), .string("1"), .int64(.max)] {
            var headers = several
            headers["harebell-parked"] = parked
            #expect(try left(headers)["harebell-attempts"] == nil, "\(parked)")
        }
    }

    @Test("A replay has its count and id, and a moved dead letter its time of failure")
    func foreignReplays() throws {
        for (replays, id) in [
            (FieldValue.int32(0), FieldValue.string(Self.run)), (.int64(.max), .string(Self.run)),
            (.int32(1), .string("run")), (.string("1"), .string(Self.run)), (.int32(1), .void),
        ] {
            let headers: FieldTable = [
                "harebell-replays": replays, "harebell-replay-id": id, "harebell-queue": .string("push.other"),
            ]
            #expect(try left(headers) == FieldTable(), "\(replays) \(id)")
        }
        for failedAt in [FieldValue.string("yesterday"), .int32(1)] {
            var headers = Source.deadLetter.marks
            headers["harebell-failed-at"] = failedAt
            headers["harebell-queue"] = .string("push.other")
            #expect(try left(headers) == FieldTable(), "\(failedAt)")
        }
    }

    @Test("A duplicate name is removed with both values if one of them is not believed")
    func twice() throws {
        var headers = Source.retryQueue.marks
        for attempts in [FieldValue.int64(.max), .int32(2)] {
            headers.entries.append(FieldTable.Entry(name: Array("harebell-attempts".utf8), value: attempts))
        }
        #expect(try left(headers) == Source.retryQueue.marks)
    }

    @Test("If properties are unreadable, none of our headers is believed or copied")
    func unreadable() throws {
        var value = FieldValue.array([])
        for _ in 0..<20 { value = .array([value]) }
        var headers = Source.retryQueue.marks
        headers["deep"] = value
        headers["harebell-queue"] = .string("push.other")
        headers["mine"] = .int32(1)
        let screened = own.screened(try DeadLetterSamples.delivery(headers))
        #expect(screened.header("harebell-parked") == nil && screened.header("harebell-queue") == nil)
        #expect(screened.header("mine") == .integer(1))
        #expect(Republishing.properties(of: screened).headers == ["mine": .int64(1)])
    }

    @Test("A delivery without our headers is unchanged")
    func untouched() throws {
        let headers: FieldTable = ["topic": .string("com.example.app"), "harebell": .int32(1), "x": .void]
        let delivery = try DeadLetterSamples.delivery(headers)
        #expect(own.screened(delivery).storage.count == delivery.storage.count)
        #expect(try left(headers) == headers)
    }
}
