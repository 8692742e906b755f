import Core
import Glibc
import Runtime

/// A progress bar on standard error, redrawn at most ten times a second.
final class ProgressBar {
    private static let interval = Duration.milliseconds(100)
    private static let width = 30

    let isShown: Bool
    private let showsRate: Bool
    private var nextDraw = Instant(nanoseconds: 0)
    private var start: Instant?

    /// - Parameters:
    ///   - isWanted: shown only on a terminal that can redraw a line.
    ///   - showsRate: units per second and the remaining time, "–" before the first unit.
    init(isWanted: Bool, showsRate: Bool = false) {
        isShown = isWanted && Terminal.canRedraw(STDERR_FILENO)
        self.showsRate = showsRate
    }

    /// Draws nothing if the total is 0.
    func show(_ progress: (done: Int, of: Int), at now: Instant) {
        guard isShown, progress.of > 0, now >= nextDraw else { return }
        nextDraw = now + Self.interval
        let filled = Self.width * min(progress.done, progress.of) / progress.of
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        draw("\r\(bar) \(progress.done) of \(progress.of)\(showsRate ? rate(progress, at: now) : "")\u{1B}[K")
    }

    private func rate(_ progress: (done: Int, of: Int), at now: Instant) -> String {
        let start = start ?? now
        self.start = start
        let seconds = (now - start).inSeconds
        guard progress.done > 0, seconds > 0 else { return ", – a second, – left" }
        let perSecond = Double(progress.done) / seconds
        let left = Int((Double(progress.of - progress.done) / perSecond).rounded(.up))
        return ", \(Int(perSecond.rounded())) a second, \(Self.words(seconds: left)) left"
    }

    private static func words(seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        default: "\(seconds / 3600) h \(seconds / 60 % 60) min"
        }
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
        try self.run(run, every: .seconds(1)) { now in
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
