package import Core
import DequeModule
package import Pipeline

/// What became of all spans so far.
package struct SpanCounts: Sendable, Equatable {
    package var exported: UInt64 = 0
    /// Because a queue was full, or the collector did not take them.
    package var dropped: UInt64 = 0

    package init() {}
}

/// Finished spans of all workers that wait for the collector.
package struct SpanQueue {
    /// Spans that wait; more are dropped.
    package static let maximumQueued = 16_384
    /// Spans of one export.
    package static let batchSize = 2048
    /// How long fewer spans than a batch wait.
    package static let interval = Duration.seconds(1)

    package private(set) var counts = SpanCounts()
    private var spans = Deque<TraceSpan>()
    private var due: Instant?

    package init() {}

    package var isEmpty: Bool { spans.isEmpty }

    /// When the next batch is to be exported.
    package var nextExport: Instant? { spans.count >= Self.batchSize ? .distantPast : due }

    package mutating func add(_ batch: Tracer.Batch, at now: Instant) {
        let taken = batch.spans.prefix(Self.maximumQueued - spans.count)
        if spans.isEmpty { due = now + Self.interval }
        spans.append(contentsOf: taken)
        counts.dropped += UInt64(batch.dropped + batch.spans.count - taken.count)
    }

    package mutating func takeBatch(at now: Instant) -> [TraceSpan] {
        let batch = Array(spans.prefix(Self.batchSize))
        spans.removeFirst(batch.count)
        due = spans.isEmpty ? nil : now + Self.interval
        return batch
    }

    /// An export ended.
    package mutating func exported(_ count: Int, rejected: Int) {
        counts.exported += UInt64(count - rejected)
        counts.dropped += UInt64(rejected)
    }
}
