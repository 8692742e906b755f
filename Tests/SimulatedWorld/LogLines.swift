import Core
package import Logging

/// Records log messages from level notice.
package final class LogLines: LogHandler {
    package struct Line {
        package let level: Logger.Level
        package let message: String
        package let metadata: Logger.Metadata

        /// `nil` where a JSON log has no number.
        package func number(_ key: String) -> Double? {
            switch metadata[key] {
            case .stringConvertible(let number as any BinaryInteger): Double(number)
            case .stringConvertible(let number as Double): number
            default: nil
            }
        }
    }

    private let lines = Guarded<[Line]>([])

    package init() {}

    package var all: [Line] { lines.withLock { $0 } }
    package var metadata: Logger.Metadata {
        get { [:] }
        set { _ = newValue }
    }
    package var logLevel: Logger.Level {
        get { .notice }
        set { _ = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set { _ = newValue }
    }

    package func log(event: LogEvent) {
        lines.withLock {
            $0.append(Line(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
        }
    }
}
