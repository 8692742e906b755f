/// What a worker knows of one queue that it consumes.
struct ConsumedQueue {
    var ramp: PrefetchRamp
    /// Whether the broker has registered its consumer.
    var isConsuming = false
    /// Whether its channel has delivered anything.
    var hasDelivered = false
}
