import Core
import TestSupport
import Testing

@testable import AMQP
@testable import Pipeline

/// The results of a fan-out share bytes that are encoded once.
@Suite("Shared parts of results")
struct SharedResultTests {
    private static let accepted = Report(outcome: .accepted, status: 200, attempts: 1, processed: .yes)
    private static let id = NotificationID(high: 0x123e_4567_e89b_12d3, low: 0xa456_4266_5544_0000)

    /// Differ from each other in all that the shared parts depend on, with repetitions.
    private static let reports: [Report] = {
        var repeated = accepted
        repeated.attempts = 2
        var detailed = accepted
        detailed.detail = "alert: \"unknown\""
        var uncertain = accepted
        uncertain.processed = .unknown
        var marked = accepted
        marked.uniqueID = Array("u-1".utf8)
        let gone = Report(
            outcome: .unregistered, status: 410, reason: RejectionReason(rawValue: "Unregistered"), timestamp: 7,
            attempts: 1, processed: .yes)
        return [
            accepted, accepted, repeated, repeated, gone, accepted, detailed, uncertain, marked, accepted,
            Report(outcome: .undelivered, detail: "no answer"), accepted,
        ]
    }()

    private static func notification(_ position: Int) -> Core.Notification? {
        DeviceToken("00\(10 + position)").map { token in
            Core.Notification(
                target: .device(token),
                Core.Notification.Content(
                    topic: ArraySlice("com.example.\(position / 10)".utf8), pushType: .alert,
                    environment: position % 7 == 0 ? .development : .production, payload: ArraySlice("{}".utf8)))
        }
    }

    @Test("Each result of a fan-out is what it would be alone")
    func equal() throws {
        var properties = MessageProperties()
        properties.messageID = Array("m-\"1\"".utf8)
        properties.correlationID = Array("c-1".utf8)
        properties.headers = ["traceparent": .string("00-1"), "baggage": .string("a=b")]
        let delivery = try DeadLetterSamples.delivery(properties, body: Array("{}".utf8))
        let now = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0))
        let request = InFlightRequest(delivery: delivery, arrived: now)
        var sharing = ResultEncoder()
        for round in 0..<2 {
            for (index, report) in Self.reports.enumerated() {
                let position = round * Self.reports.count + index
                let notification = try #require(Self.notification(position))
                let end = Conclusion(
                    request: request, notification: notification, position: position, id: Self.id, report: report)
                let found = sharing.encode(end, to: PublishRoute(exchange: [], routingKey: []))
                let expected = ResultEncoder.encode(
                    report, id: Self.id, position: position, notification: notification, delivery: delivery)
                #expect(found.body == expected.body, "\(position)")
                #expect(found.encodedProperties.bytes == expected.encodedProperties.bytes, "\(position)")
                #expect(found.encodedProperties.messageID == expected.encodedProperties.messageID)
                #expect(found.encodedProperties.correlationID == expected.encodedProperties.correlationID)
                let body = sharing.body(of: end)
                #expect(body == expected.body, "\(position)")
            }
        }
        #expect(request.sharedResult?.properties != nil && request.sharedResult?.rest?.json.isEmpty == false)
    }

    @Test("An overlong correlation id is reported for each result of a fan-out, and for no other")
    func overlong() throws {
        let long = ArraySlice(String(repeating: "c", count: 256).utf8)
        var writer = PropertyWriter()
        writer.append(.correlationID, long)
        let beginning = writer.beginning
        #expect(throws: AMQPError.self) { try writer.finish().properties.check() }
        writer.append(beginning)
        writer.append(.messageID, long.dropFirst())
        #expect(throws: AMQPError.self) { try writer.finish().properties.check() }
        writer.append(.messageID, long.dropFirst())
        try writer.finish().properties.check()
        #expect(writer.finish().properties.messageID == nil, "it belongs to the message before")
    }

    @Test(
        "The number of decimal digits",
        arguments: [(0, 1), (9, 1), (10, 2), (99, 2), (100, 3), (499, 3), (Int.max, 19)])
    func digits(number: Int, count: Int) {
        #expect(number.decimalDigits == count && "\(number)".utf8.count == count)
    }

    /// UUIDs of version 5 from other software, of the name `message:1:q3:m-1#` and a position.
    @Test("The IDs of a fan-out are those of the specification, in any order")
    func identifiers() throws {
        var properties = MessageProperties()
        properties.messageID = Array("m-1".utf8)
        let delivery = try DeadLetterSamples.delivery(properties, body: Array("{}".utf8))
        var key = RequestKey()
        for (position, expected) in [
            (499, "39f551e3-dd5b-51e7-ba16-83d1fb355aa4"), (0, "e1885a1c-1430-57dd-82ed-15ebef16db47"),
            (10, "221f8f62-53ad-5e32-a3c5-7866a4ab0c7c"),
        ] {
            _ = key.notificationID(own: Self.id, position: position, of: delivery, queue: "q")
            let id = key.notificationID(own: nil, position: position, of: delivery, queue: "q")
            #expect("\(id)" == expected)
        }
    }
}
