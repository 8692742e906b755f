package import Logging
import Synchronization

/// The minimum level of logged events: shared by all loggers of a process, and changeable at run time.
package final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    package init(_ level: Logger.Level) {
        index = Atomic(Self.index(of: level))
    }

    package var level: Logger.Level {
        get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
        set { index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int {
        guard let index = Logger.Level.allCases.firstIndex(of: level) else {
            preconditionFailure("allCases has every level")
        }
        return index
    }
}
