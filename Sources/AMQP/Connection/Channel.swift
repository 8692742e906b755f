/// A channel that the broker closed is reopened under the same number, and the broker's delivery tags restart. Our
/// numbers continue, so that an old delivery cannot be settled on the new channel.
struct Channel {
    var deliveries: DeliveryLedger
    var assembly: ContentAssembly

    func number(of tag: UInt64) -> UInt64 {
        deliveries.first - 1 &+ tag
    }

    func tag(of number: UInt64) -> UInt64 {
        number - deliveries.first + 1
    }

    /// Marks the channel as closed and drops its deliveries.
    mutating func close() {
        deliveries = DeliveryLedger(epoch: deliveries.epoch, first: deliveries.next)
    }
}
