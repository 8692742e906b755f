import Core
import Logging
import Simulator

extension Logger {
    /// Logs one request to the simulator: the response, and the cause of a refusal.
    func log(_ record: SimulatorLedger.Record) {
        let response: String
        let level: Logger.Level
        switch record.ending {
        case .responded(let status, let reason):
            response = reason.map { "\(status) \($0)" } ?? String(status)
            level = status < 400 ? .info : .warning
        case .silent: (response, level) = ("no answer", .warning)
        case .reset(let code): (response, level) = ("stream reset with \(code)", .warning)
        case .lost: (response, level) = ("the stream or connection ended before the answer", .warning)
        }
        let message = record.cause.map { "\(response): \($0)" } ?? response
        var fields: Logger.Metadata = [
            "apns-id": "\(record.apnsID)", "connection": .stringConvertible(record.connection),
            "stream": .stringConvertible(record.stream),
        ]
        // The prefix identifies a built-in token; the rest is not logged.
        if !record.deviceToken.isEmpty { fields["device-token"] = "\(Self.text(record.deviceToken.prefix(8)))…" }
        for (name, value) in [
            ("method", record.fields.method), ("topic", record.fields.topic), ("push-type", record.fields.pushType),
        ] {
            if let value, name != "method" || !value.equals("POST") { fields[name] = "\(Self.text(value[...]))" }
        }
        log(level: level, "\(message)", metadata: fields)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(200), as: UTF8.self)
    }
}
