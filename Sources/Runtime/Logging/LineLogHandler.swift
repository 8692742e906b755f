package import Configuration
package import Core
import Glibc
package import Logging

/// Writes one line per event to standard error, as text or JSON.
package struct LineLogHandler: LogHandler {
    /// The level of the process, unless this logger has its own.
    package var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    private let threshold: LogThreshold
    private var ownLevel: Logger.Level?
    package var metadata: Logger.Metadata = [:]
    private let label: String
    private let format: Configuration.Log.Format
    private let clock: @Sendable () -> WallTime

    package init(
        label: String, threshold: LogThreshold, format: Configuration.Log.Format,
        clock: @escaping @Sendable () -> WallTime
    ) {
        self.label = label
        self.threshold = threshold
        self.format = format
        self.clock = clock
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var fields = metadata
        for (key, value) in event.metadata ?? [:] { fields[key] = value }
        let line = Self.line(
            format: format, time: clock(), level: event.level, label: label, message: event.message.description,
            fields: fields.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 })
        // Under a lock, so that lines of several threads never mix.
        Self.output.withLock { output in
            output.write(line) { count in
                Self.line(
                    format: format, time: clock(), level: .warning, label: label,
                    message: "log lines were dropped: standard error was full",
                    fields: [("lines", .stringConvertible(count))])
            }
        }
    }

    static let output = Guarded(LogOutput(descriptor: STDERR_FILENO))

    /// Lines of the whole process that standard error did not accept.
    package static var droppedLines: UInt64 { output.withLock { $0.dropped } }

    /// The line with its newline. Control characters in values are escaped, so that one event is one line.
    package static func line(
        format: Configuration.Log.Format, time: WallTime, level: Logger.Level, label: String, message: String,
        fields: [(String, Logger.MetadataValue)]
    ) -> String {
        switch format {
        case .text:
            let pairs = fields.map { " \($0.0)=\(quoted($0.1.description, always: false))" }.joined()
            return "\(time.rfc3339) \(level.rawValue) \(ControlCharacters.escaped(message))\(pairs)\n"
        case .json:
            let pairs = fields.map { ",\(quoted($0.0, always: true)):\(json($0.1))" }.joined()
            return
                "{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.rawValue)\","
                + "\"logger\":\(quoted(label, always: true)),"
                + "\"message\":\(quoted(message, always: true))\(pairs)}\n"
        }
    }

    /// Numbers and arrays keep their type, everything else is text.
    private static func json(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .stringConvertible(let number as any BinaryInteger): "\(number)"
        case .stringConvertible(let number as Double) where number.isFinite: "\(number)"
        case .array(let values): "[\(values.map(json).joined(separator: ","))]"
        default: quoted(value.description, always: true)
        }
    }

    private static func quoted(_ text: String, always: Bool) -> String {
        let needed =
            always || text.isEmpty
            || text.unicodeScalars.contains { $0 == " " || $0 == "\"" || ControlCharacters.contains($0) }
        return needed ? "\"\(ControlCharacters.escaped(text, quotes: true))\"" : text
    }
}
