import Core
import Glibc

/// A progress bar on standard error.
final class ProgressBar {
    /// The longest time between two looks at a run, and the shortest between two drawings.
    static let interval = Duration.milliseconds(100)
    private static let width = 30

    private let isShown: Bool
    private var nextDraw = Instant(nanoseconds: 0)
    private var trouble: String?

    /// - Parameter isWanted: shown only on a terminal that can redraw a line.
    init(isWanted: Bool) {
        let kind = unsafe getenv("TERM").map { unsafe String(cString: $0) } ?? ""
        isShown = isWanted && isatty(STDERR_FILENO) == 1 && !["", "dumb"].contains(kind)
    }

    /// Reports new trouble, then draws. Draws nothing if the total is 0.
    func show(_ run: any Run, at now: Instant) {
        let found = run.isFinished ? nil : run.trouble(at: now)
        if let found, found != trouble {
            clear()
            complain("\(found); trying again")
        }
        trouble = found
        let progress = run.progress
        guard isShown, progress.of > 0, now >= nextDraw else { return }
        nextDraw = now + Self.interval
        let filled = Self.width * min(progress.done, progress.of) / progress.of
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        draw("\r\(bar) \(progress.done) of \(progress.of)\u{1B}[K")
    }

    func clear() {
        guard isShown else { return }
        draw("\r\u{1B}[K")
    }

    private func draw(_ text: String) {
        // A failure to draw the bar is ignored.
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
