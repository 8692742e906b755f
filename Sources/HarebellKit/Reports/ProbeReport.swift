import Operations
import Core
import Decoding

/// The report of `harebell topology --probe` about one retry queue, as text or JSON.
struct ProbeReport {
    enum State: String {
        case ok
        /// The message left the queue long before its delay.
        case early
        case lost
        case refused
        /// The delay is longer than the maximum wait.
        case left
    }

    let level: RetryProbe.Level
    let state: State
    private var time: Duration?
    private var detail: String?

    init(_ level: RetryProbe.Level, _ state: State) {
        self.level = level
        self.state = state
    }

    /// - Returns: `nil` for an event that does not concern a retry queue.
    init?(_ event: RetryProbe.Event) {
        switch event {
        case .returned(let level, let time):
            self.init(level, level.isEarly(time) ? .early : .ok)
            self.time = time
        case .lost(let level):
            self.init(level, .lost)
            detail = "the message did not return in time; messages in this queue may be lost"
        case .refused(let level, let reason):
            self.init(level, .refused)
            detail = reason
        case .failed: return nil
        }
        if state == .early { detail = "a policy of the broker has a shorter time-to-live: rabbitmqctl list_policies" }
    }

    var isWrong: Bool {
        switch state {
        case .ok, .left: false
        case .early, .lost, .refused: true
        }
    }

    var lines: [String] {
        let delay = level.delay.components.seconds
        let rest =
            switch (state, time) {
            case (.left, _): ": skipped, its delay is \(delay) s"
            case (_, let time?): ": returned after \(tenths(time)) s, its delay is \(delay) s"
            default: ": its delay is \(delay) s"
            }
        return [state.rawValue.padded(to: 11) + "queue \(level.queue)\(rest)"]
            + (detail.map { ["           \($0)"] } ?? [])
    }

    private func tenths(_ time: Duration) -> String {
        let tenths = Int((time.inSeconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    var json: JSONOutput {
        var members: [(String, JSONOutput)] = [
            ("queue", .text(level.queue)), ("delay_seconds", .integer(Int(level.delay.components.seconds))),
            ("state", .text(state.rawValue)), ("seconds", time.map { .number($0.inSeconds) } ?? .null),
        ]
        if let detail { members.append(("detail", .text(detail))) }
        return .object(members)
    }
}
