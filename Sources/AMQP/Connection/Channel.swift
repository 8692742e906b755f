/// What one channel of a connection has of its own.
///
/// A channel that the broker closed is opened again under the same number, and the broker's delivery tags begin anew.
/// Ours go on, so that nothing is settled on it that came over an earlier one.
struct Channel {
    var deliveries: DeliveryLedger
    var assembly: ContentAssembly

    /// Our number of the broker's tag.
    func number(of tag: UInt64) -> UInt64 {
        deliveries.first - 1 &+ tag
    }

    /// The broker's tag of our number.
    func tag(of number: UInt64) -> UInt64 {
        number - deliveries.first + 1
    }

    /// It is gone, and with it what it delivered.
    mutating func close() {
        deliveries = DeliveryLedger(epoch: deliveries.epoch, limits: deliveries.limits, first: deliveries.next)
    }
}
