import Core
import Logging

/// Keeps what is logged, from notices on.
final class LogLines: LogHandler {
    struct Line {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let lines = Guarded<[Line]>([])

    var all: [Line] { lines.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set { _ = newValue }
    }
    var logLevel: Logger.Level {
        get { .notice }
        set { _ = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set { _ = newValue }
    }

    func log(event: LogEvent) {
        lines.withLock {
            $0.append(Line(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
        }
    }
}
