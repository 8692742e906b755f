import Core
import Glibc

/// A progress bar on standard error, redrawn at most ten times a second.
final class ProgressBar {
    private static let interval = Duration.milliseconds(100)
    private static let width = 30

    private let isShown: Bool
    private var nextDraw = Instant(nanoseconds: 0)

    /// - Parameter isWanted: shown only on a terminal that can redraw a line.
    init(isWanted: Bool) {
        let kind = unsafe getenv("TERM").map { unsafe String(cString: $0) } ?? ""
        isShown = isWanted && isatty(STDERR_FILENO) == 1 && !["", "dumb"].contains(kind)
    }

    /// Draws nothing if the total is 0.
    func show(_ progress: (done: Int, of: Int), at now: Instant) {
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

extension LoopRunner {
    /// Runs until finished, and reports progress and trouble.
    func run(_ run: any Run, showing bar: ProgressBar) throws {
        var trouble: String?
        try self.run(run, every: .milliseconds(500)) { now in
            let found = run.isFinished ? nil : run.trouble(at: now.instant)
            if let found, found != trouble {
                bar.clear()
                complain("\(found); trying again")
            }
            trouble = found
            bar.show(run.progress, at: now.instant)
        }
        bar.clear()
    }
}
