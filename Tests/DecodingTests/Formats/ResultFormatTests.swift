import AMQP
import Core
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline

/// Result bodies in other formats than ours.
@Suite("Result formats")
struct ResultFormatTests {
    private static let token = DecoderSample.token

    private static func results(
        _ sample: DecoderSample, _ format: Configuration.ResultFormat, _ report: Report
    ) throws -> [EncodedResult] {
        let notifications = try sample.request().notifications
        return notifications.enumerated().map { index, notification in
            ResultEncoder().encode(
                report, id: NotificationID(high: 1, low: 2), position: notifications.count == 1 ? nil : index,
                notification: notification, delivery: sample.delivery, format: format)
        }
    }

    @Test("gorush's feedback has the entry's own id and message, each notification's token, and APNs's reason")
    func gorush() throws {
        let sample = DecoderSample(
            """
            {"notifications": [{"platform": 2, "tokens": ["x"], "message": "no"},
              {"platform": 1, "tokens": ["\(Self.token)"], "message": "m \\"1\\"", "notif_id": "n1"},
              {"platform": 1, "to": "\(DecoderSample.token2)", "title": "t"}]}
            """, decoder: "gorush")
        let report = Report(outcome: .unregistered, status: 410, reason: RejectionReason(rawValue: "Unregistered"))
        let bodies = try Self.results(sample, .gorush, report).map { string($0.body[...]) }
        #expect(
            bodies == [
                #"{"notif_id":"n1","type":"failed-push","platform":"ios","token":"\#(Self.token)","#
                    + #""message":"m \"1\"","error":"Unregistered"}"#,
                #"{"type":"failed-push","platform":"ios","token":"\#(DecoderSample.token2)","#
                    + #""message":"","error":"Unregistered"}"#,
            ])
        let accepted = try Self.results(sample, .gorush, Report(outcome: .accepted, status: 200))
        #expect(string(accepted[0].body[...])?.contains(#""type":"succeeded-push""#) == true)
        #expect(string(accepted[0].body[...])?.hasSuffix(#""error":""}"#) == true)
        #expect(string(accepted[0].properties.contentType?[...]) == "application/json")
    }

    @Test("Invalid requests are reported in gorush's format, too")
    func invalid() {
        let delivery = DecoderSample("{", decoder: "gorush").delivery
        let result = ResultEncoder().encode(
            Report(outcome: .invalid, detail: "body: not JSON"), id: nil, notification: nil, delivery: delivery,
            format: .gorush)
        #expect(
            string(result.body[...])
                == #"{"type":"failed-push","platform":"ios","token":"","message":"","error":"body: not JSON"}"#)
    }

    @Test("An event has the result's message id as its id, and our own JSON as its data")
    func event() throws {
        let sample = DecoderSample(
            #"{"device-token":"\#(Self.token)","payload":{"aps":{"badge":1}}}"#, decoder: "apns-json")
        let report = Report(outcome: .accepted, status: 200)
        let event = try Self.results(sample, .cloudevents, report)[0]
        let own = try Self.results(sample, .harebell, report)[0]
        let id = try #require(string(own.properties.messageID?[...]))
        #expect(
            string(event.body[...])
                == #"{"specversion":"1.0","id":"\#(id)","source":"/harebell","type":"harebell.result","#
                + #""datacontenttype":"application/json","data":\#(String(decoding: own.body, as: UTF8.self))}"#)
        #expect(string(event.properties.contentType?[...]) == "application/cloudevents+json; charset=utf-8")
        #expect(event.properties.headers == own.properties.headers)
        #expect(event.properties.type == own.properties.type)
    }

    @Test("The events of a fan-out have the ids of its results")
    func events() throws {
        let sample = DecoderSample(
            #"{"device-tokens":["\#(Self.token)","\#(DecoderSample.token2)"],"payload":{"aps":{"badge":1}}}"#,
            decoder: "apns-json")
        let report = Report(outcome: .accepted, status: 200)
        let events = try Self.results(sample, .cloudevents, report)
        #expect(events.count == 2)
        for event in events {
            let id = try #require(string(event.properties.messageID?[...]))
            #expect(string(event.body)?.hasPrefix(#"{"specversion":"1.0","id":"\#(id)","source""#) == true)
        }
        #expect(events[0].properties.messageID != events[1].properties.messageID)
    }
}

extension EncodedResult {
    fileprivate var properties: MessageProperties { MessageProperties(encodedProperties) }
}
