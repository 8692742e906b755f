import AMQP
import Core
import Simulator
import SwiftProtobuf
import TestSupport
import Testing
import XorcMessages

@testable import Bridge

/// Results as the xorc events tell them.
@Suite("Results of the xorc events")
struct XorcResultTests {
    private static func result(_ outcome: Outcome, of delivery: Delivery) -> EncodedResult {
        ResultEncoder().encode(
            Report(outcome: outcome), id: NotificationID(high: 1, low: 2), notification: nil, delivery: delivery,
            format: .xorc)
    }

    private static func read(_ bytes: ArraySlice<UInt8>) throws -> XorcPushResult {
        try XorcPushResult(serializedBytes: Array(bytes))
    }

    @Test("A result is what another implementation makes of it")
    func bytes() {
        let delivery = DecoderSample(bytes: XorcSamples.localized, decoder: "xorc").delivery
        let result = Self.result(.unregistered, of: delivery)
        #expect(Array(result.body) == XorcSamples.unsubscribe)
        #expect(string(result.properties.contentType) == "application/x-protobuf")
        #expect(string(result.properties.type) == "harebell.result")
    }

    @Test("Each outcome has the action that it asks for", arguments: Outcome.allCases)
    func actions(outcome: Outcome) throws {
        let delivery = DecoderSample(bytes: XorcSamples.plain, decoder: "xorc").delivery
        let result = try Self.read(Self.result(outcome, of: delivery).body)
        let expected: XorcPushResult.ResponseAction =
            switch outcome.action.description {
            case "forget-token": .unsubscribeEntity
            case "retry-later": .retry
            default: .none
            }
        #expect(result.hasResponseAction && result.responseAction == expected)
        #expect(result.header.type == "notification.PushResult")
        #expect(result.header.request.correlationID == "job-1")
    }

    @Test("The request's header comes back with what nobody here knows of it")
    func unknownFields() throws {
        // Field 9 of the header is a text.
        let header: [UInt8] = [0x22, 1, 0x78, 0x4A, 2, 0x68, 0x69]
        let delivery = DecoderSample(bytes: [0x0A, UInt8(header.count)] + header, decoder: "xorc").delivery
        let result = try Self.read(Self.result(.invalid, of: delivery).body)
        #expect(result.header.request.type == "x")
        #expect(Array(result.header.request.unknownFields.data) == [0x4A, 2, 0x68, 0x69])
    }

    @Test("What is no push request is answered by its correlation id, or its message id")
    func notProtobuf() throws {
        for (properties, id) in [
            ([("correlation-id", "c"), ("message-id", "m")], "c"), ([("message-id", "m")], "m"), ([], ""),
        ] {
            let delivery = DecoderSample("{}", decoder: "xorc", properties: properties).delivery
            let header = try Self.read(Self.result(.invalid, of: delivery).body).header
            #expect(header.request.correlationID == id && header.request.hasCorrelationID == !id.isEmpty)
            #expect(header.request.type == "notification.PushNotification")
        }
    }

    @Test("A request that has all its words in protobuf goes through a worker, and so does its answer")
    func worker() throws {
        let world = try World {
            $0.queues[0].decoder = "xorc"
            $0.queues[0].resultFormat = .xorc
        }
        try world.start()
        var properties = MessageProperties()
        properties.replyTo = Array("replies".utf8)
        for body in [XorcSamples.localized, Array("{}".utf8), XorcSamples.google] {
            try world.broker.put(body, properties: properties, into: "push.requests")
        }
        world.settle()
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        #expect(world.sent == 1)
        #expect(world.ledger.records.map { "\($0.apnsID)" } == ["123e4567-e89b-12d3-a456-426655440000"])
        #expect(world.worker?.counters.ignored == 1)
        let answers = world.broker.messages(in: "replies")
        try #require(answers.count == 2)
        let headers = answers.map { World.Published($0).headers }
        let accepted = try #require(headers.firstIndex { $0["harebell-outcome"] == "accepted" })
        #expect(headers[1 - accepted]["harebell-outcome"] == "invalid")
        let result = try Self.read(answers[accepted].body[...])
        #expect(result.responseAction == .none)
        #expect(result.header.request.context["tenant"] == "shop")
        #expect(headers[accepted]["traceparent"] == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        #expect(World.Published(answers[accepted]).messageID == "123e4567-e89b-12d3-a456-426655440000")
        #expect(world.published(in: "push.dead").map(\.outcome) == ["invalid"])
    }
}

@Suite("Results of the xorc events, to damaged requests")
struct XorcResultFuzzTests {
    @Test("Whatever a body is, its result is a message with all that they require")
    func bodies() throws {
        let seed = Mutator.seed(20_261_122)
        var mutator = Mutator(seed: seed, fragments: Mutator.binaryFragments + [[0x0A, 0], [0x22, 1, 0x78], [0x0B]])
        for _ in 0..<Mutator.inputs(3000) {
            var body = XorcSamples.localized
            mutator.damage(&body)
            let delivery = DecoderSample(bytes: body, decoder: "xorc").delivery
            let bytes = ResultEncoder().encode(
                Report(outcome: .undelivered), id: nil, notification: nil, delivery: delivery, format: .xorc
            ).body
            let result = try XorcPushResult(serializedBytes: Array(bytes))
            #expect(
                result.responseAction == .retry && result.header.hasType && result.header.hasRequest, "seed \(seed)")
            #expect(result.header.request.hasType, "seed \(seed)")
        }
    }
}
