package import Core
package import Logging

/// Limits the lines of a worker's log, so that no peer can flood it.
///
/// Every line of a worker passes here, so no message can bypass the limit. A kind of line is a message from one place
/// in the code, regardless of metadata. For each kind, ``linesPerWindow`` lines pass within ``window``; at its end, one
/// more line reports the number of suppressed lines.
///
/// It has no clock: the worker sets the time.
package final class LogThrottle: Sendable {
    package static let window = Duration.seconds(60)
    /// The maximum number of lines of one kind within a window.
    package static let linesPerWindow = 30
    /// Kinds that are counted separately. Further messages are counted by their place in the code, because a message
    /// may contain text from a peer.
    package static let maximumKinds = 64

    private struct Key: Hashable {
        let file: String
        let line: UInt
        /// `nil` for messages counted by place only.
        let message: String?
    }

    private struct Kind {
        let ends: Instant
        let level: Logger.Level
        let message: String
        var passed = 0
        var suppressed = 0
    }

    private struct State {
        var now: Instant
        var kinds: [Key: Kind] = [:]
        /// The earliest end of a window.
        var nextEnd: Instant?
        var suppressed: UInt64 = 0
        /// The earliest end of a window with suppressed lines.
        var nextReport: Instant?
    }

    private let handler: any LogHandler
    private let label: String
    private let state: Guarded<State>

    package init(_ log: Logger, at now: Instant) {
        handler = log.handler
        label = log.label
        state = Guarded(State(now: now))
    }

    /// A logger with the same destination as the original one, within the limits.
    package var logger: Logger {
        Logger(label: label) { [handler] _ in Handler(inner: handler, throttle: self) }
    }

    /// The number of suppressed lines.
    package var suppressed: UInt64 {
        state.withLock { $0.suppressed }
    }

    /// When suppressed lines have to be reported.
    package var nextDeadline: Instant? {
        state.withLock { $0.nextReport }
    }

    /// Sets the time; reports the suppressed lines of windows that have ended.
    package func advance(to now: Instant) {
        let ended = state.withLock { state -> [Kind]? in
            state.now = now
            guard let nextEnd = state.nextEnd, nextEnd <= now else { return nil }
            let ended = state.kinds.filter { $0.value.ends <= now }
            for key in ended.keys { state.kinds[key] = nil }
            state.nextEnd = state.kinds.values.map(\.ends).min()
            state.nextReport = state.kinds.values.filter { $0.suppressed > 0 }.map(\.ends).min()
            return Array(ended.values)
        }
        if let ended { report(ended) }
    }

    /// Reports all suppressed lines now.
    package func finish() {
        let kinds = state.withLock { state -> [Kind] in
            defer {
                state.kinds = [:]
                state.nextEnd = nil
                state.nextReport = nil
            }
            return Array(state.kinds.values)
        }
        report(kinds)
    }

    private func report(_ kinds: [Kind]) {
        for kind in kinds.sorted(by: { $0.message < $1.message }) where kind.suppressed > 0 {
            handler.log(
                event: LogEvent(
                    level: kind.level, message: "\(kind.message)",
                    metadata: ["suppressed": .stringConvertible(kind.suppressed), "within": "\(Self.window)"],
                    source: nil,
                    file: #fileID, function: #function, line: #line))
        }
    }

    private func admits(_ event: LogEvent) -> Bool {
        let message = event.message.description
        return state.withLock { state in
            var key = Key(file: event.file, line: event.line, message: message)
            if state.kinds[key] == nil, state.kinds.count >= Self.maximumKinds {
                key = Key(file: event.file, line: event.line, message: nil)
            }
            var kind = state.kinds[key] ?? Kind(ends: state.now + Self.window, level: event.level, message: message)
            state.nextEnd = min(state.nextEnd ?? kind.ends, kind.ends)
            defer { state.kinds[key] = kind }
            guard kind.passed >= Self.linesPerWindow else {
                kind.passed += 1
                return true
            }
            kind.suppressed += 1
            state.suppressed += 1
            state.nextReport = min(state.nextReport ?? kind.ends, kind.ends)
            return false
        }
    }

    private struct Handler: LogHandler {
        var inner: any LogHandler
        let throttle: LogThrottle

        var logLevel: Logger.Level {
            get { inner.logLevel }
            set { inner.logLevel = newValue }
        }

        var metadata: Logger.Metadata {
            get { inner.metadata }
            set { inner.metadata = newValue }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { inner[metadataKey: key] }
            set { inner[metadataKey: key] = newValue }
        }

        func log(event: LogEvent) {
            if throttle.admits(event) { inner.log(event: event) }
        }
    }
}
