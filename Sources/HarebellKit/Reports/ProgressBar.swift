import Core
import Glibc

/// A bar on standard error that is drawn over itself, at most ten times a second.
final class ProgressBar {
    private static let interval = Duration.milliseconds(100)
    private static let width = 30

    private let total: Int
    let isShown: Bool
    private var nextDraw = Instant(nanoseconds: 0)

    init(total: Int, isShown: Bool) {
        self.total = total
        self.isShown = isShown
    }

    func show(_ done: Int, at now: Instant) {
        guard isShown, now >= nextDraw else { return }
        nextDraw = now + Self.interval
        let filled = Self.width * min(done, total) / max(total, 1)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        draw("\r\(bar) \(done) of \(total)")
    }

    func clear() {
        guard isShown else { return }
        draw("\r\u{1B}[K")
    }

    private func draw(_ text: String) {
        // A bar that cannot be drawn is no reason to stop.
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
