package import Core

/// Decides which requests of a worker are traced, and keeps their finished spans until the control thread takes them.
///
/// An object, because each traced request adds to it.
package final class Tracer {
    /// Finished spans that the control thread has not taken; more are dropped.
    package static let maximumWaiting = 4096
    /// So many spans are handed over at once, fewer after ``interval``.
    package static let batchSize = 512
    package static let interval = Duration.seconds(1)

    package struct Batch: Sendable {
        package var spans: [TraceSpan]
        /// How many others were dropped since the last batch.
        package var dropped: Int

        package init(spans: [TraceSpan] = [], dropped: Int = 0) {
            self.spans = spans
            self.dropped = dropped
        }
    }

    /// Traces whose lower half, without its last bit, is below this are sampled, as OpenTelemetry's SDKs do
    /// (`TraceIdRatioBased`).
    private let bound: UInt64
    private var random: SplitMix64
    private var batch = Batch()
    /// When the oldest span is handed over at the latest.
    private var due: Instant?
    /// Whether the control thread has not answered for the last batch yet.
    private var isHandedOver = false

    /// - Parameter ratio: of the requests without a parent, 0 to 1.
    package init(ratio: Double, seed: UInt64) {
        bound = UInt64(ratio * 0x1p63)
        random = SplitMix64(seed: seed)
    }

    /// Begins the trace of a request if it is sampled: as its parent is, else by the ratio.
    package func trace(_ delivery: Delivery, arrived: Moment) -> RequestTrace? {
        var parent: TraceContext?
        if case .text(let header)? = delivery.header("traceparent") { parent = TraceContext(header) }
        if parent?.isSampled == false { return nil }
        let trace = parent?.trace ?? UInt128(random.next()) << 64 | UInt128(random.next() | 1)
        guard parent != nil || UInt64(truncatingIfNeeded: trace) >> 1 < bound else { return nil }
        return RequestTrace(
            TraceContext(trace: trace, span: nextSpan(), continuing: parent), parent: parent?.span, arrived, self)
    }

    /// Zero is no span.
    func nextSpan() -> UInt64 {
        random.next() | 1
    }

    func add(_ span: TraceSpan, at now: Instant) {
        guard batch.spans.count < Self.maximumWaiting else { return drop() }
        if batch.spans.isEmpty { due = now + Self.interval }
        batch.spans.append(span)
    }

    func drop() {
        batch.dropped += 1
    }

    // MARK: The control thread

    package var nextDeadline: Instant? { isHandedOver ? nil : due }

    /// - Parameter isLast: whether the worker ends.
    /// - Returns: what is to be handed over now, one batch at a time.
    package func takeBatch(isLast: Bool = false, at now: Instant) -> Batch? {
        guard let due, isLast || !isHandedOver && (batch.spans.count >= Self.batchSize || due <= now) else {
            return nil
        }
        self.due = nil
        isHandedOver = true
        defer { batch = Batch() }
        return batch
    }

    /// The control thread has taken the last batch.
    package func batchReceived() {
        isHandedOver = false
    }
}
