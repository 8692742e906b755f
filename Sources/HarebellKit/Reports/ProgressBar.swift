import Core
import Glibc
import Operations

/// A bar on standard error that is drawn over itself, at most ten times a second.
final class ProgressBar {
    private static let interval = Duration.milliseconds(100)
    private static let width = 30

    let isShown: Bool
    private var nextDraw = Instant(nanoseconds: 0)

    /// - Parameter isWanted: it is shown on a terminal only.
    init(isWanted: Bool) {
        isShown = isWanted && isatty(STDERR_FILENO) == 1
    }

    /// Draws nothing where `progress` is of 0.
    func show(_ progress: (done: Int, of: Int), at now: Instant) {
        guard isShown, progress.of > 0, now >= nextDraw else { return }
        nextDraw = now + Self.interval
        let filled = Self.width * min(progress.done, progress.of) / progress.of
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        draw("\r\(bar) \(progress.done) of \(progress.of)")
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

extension LoopRunner {
    /// Turns until the run is finished, and shows how far it is.
    ///
    /// - Parameter afterStep: called after each step, before the bar is drawn.
    func run(_ run: any Run, showing bar: ProgressBar, afterStep: @escaping () -> Void = {}) throws {
        try self.run(run, every: bar.isShown ? .seconds(1) : nil) { now in
            afterStep()
            bar.show(run.progress, at: now.instant)
        }
        bar.clear()
    }
}
