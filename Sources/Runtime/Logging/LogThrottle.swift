package import Core
package import Logging
import Synchronization

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
        var kinds: [Key: Kind] = [:]
        var suppressed: UInt64 = 0
    }

    private let handler: any LogHandler
    private let label: String
    private let state = Guarded(State())
    // Outside of the lock, because the worker sets the time and reads the deadline in every turn.
    private let now: AtomicInstant
    /// The earliest end of a window.
    private let nextEnd = AtomicInstant(.distantFuture)

    package init(_ log: Logger, at now: Instant) {
        handler = log.handler
        label = log.label
        self.now = AtomicInstant(now)
    }

    /// A logger with the same destination as the original one, within the limits.
    package var logger: Logger {
        Logger(label: label) { [handler] _ in Handler(inner: handler, throttle: self) }
    }

    package var suppressed: UInt64 {
        state.withLock { $0.suppressed }
    }

    /// When the next window ends.
    package var nextDeadline: Instant? {
        let instant = nextEnd.value
        return instant == .distantFuture ? nil : instant
    }

    /// Sets the time; reports the suppressed lines of windows that have ended.
    package func advance(to now: Instant) {
        self.now.value = now
        if nextEnd.value <= now { endWindows(at: now) }
    }

    /// Reports all suppressed lines now.
    package func finish() {
        endWindows(at: .distantFuture)
    }

    private func endWindows(at now: Instant) {
        let ended = state.withLock { state -> [Kind] in
            let ended = state.kinds.filter { $0.value.ends <= now }
            for key in ended.keys { state.kinds[key] = nil }
            nextEnd.value = state.kinds.values.map(\.ends).min() ?? .distantFuture
            return Array(ended.values)
        }
        for kind in ended.sorted(by: { $0.message < $1.message }) where kind.suppressed > 0 {
            handler.log(
                event: LogEvent(
                    level: kind.level, message: "\(kind.message)",
                    metadata: [
                        "suppressed": .stringConvertible(kind.suppressed),
                        "within_seconds": .stringConvertible(Self.window.components.seconds),
                    ],
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
            var kind = state.kinds[key] ?? Kind(ends: now.value + Self.window, level: event.level, message: message)
            nextEnd.value = min(nextEnd.value, kind.ends)
            defer { state.kinds[key] = kind }
            guard kind.passed >= Self.linesPerWindow else {
                kind.passed += 1
                return true
            }
            kind.suppressed += 1
            state.suppressed += 1
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

/// An instant that several threads may set and read; each access is atomic.
private struct AtomicInstant: ~Copyable, Sendable {
    private let nanoseconds: Atomic<Int64>

    init(_ instant: Instant) {
        nanoseconds = Atomic(instant.nanoseconds)
    }

    var value: Instant {
        get { Instant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }
        nonmutating set { nanoseconds.store(newValue.nanoseconds, ordering: .relaxed) }
    }
}
