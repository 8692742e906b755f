import Core

@testable import Simulator

/// Requests as the simulator passes them on.
enum InboxSamples {
    static func record(
        token: String = "00AA", topic: String = "com.example.app", payload: String = "{\"aps\":{\"alert\":\"Hello\"}}",
        ending: SimulatorLedger.Ending = .responded(200, reason: nil), cause: String? = nil, path: String? = nil
    ) -> SimulatorLedger.Record {
        var record = SimulatorLedger.Record(
            apnsID: NotificationID(high: 1, low: 2), fields: RequestHeaders([]), payload: Array(payload.utf8),
            connection: 1, stream: 1, receivedAt: Instant(nanoseconds: 0), endedAt: Instant(nanoseconds: 0),
            ending: ending, cause: cause)
        record.fields.path = Array((path ?? "/3/device/\(token)").utf8)
        record.fields.topic = topic.isEmpty ? nil : Array(topic.utf8)
        record.fields.pushType = Array("alert".utf8)
        record.fields.authorization = Array("bearer secret".utf8)
        return record
    }

    static func entry(_ record: SimulatorLedger.Record = record()) -> InboxEntry? {
        InboxEntry(record, at: WallTime(milliseconds: 1_795_219_200_000))
    }
}
