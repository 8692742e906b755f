package import Core

/// What a ``RequestPipeline`` needs from the connections of its owner, in order.
package enum PipelineAction {
    /// Change how much is consumed from the broker.
    case setIntake(Intake)
    /// Decode a message with one of ``PipelineSettings/processes``: ``RequestPipeline/decoded(_:_:at:)``.
    case decode(process: Int, Handle, Delivery)
    /// Submit a notification to its pool: ``RequestPipeline/responded(_:_:at:)``, ``RequestPipeline/lost(_:_:at:)`` or
    /// ``RequestPipeline/expired(_:at:)``. A probe needs a new connection, which APNs binds to the current credential.
    case submit(Handle, InFlightNotification, pool: PoolID, isProbe: Bool)
    /// Withdraw a notification from a pool: ``RequestPipeline/withdrawn(_:_:at:)`` or ``RequestPipeline/wasSent(_:)``.
    case withdraw(Handle, pool: PoolID, Withdrawal)
    /// Settle a delivery of the current epoch.
    case settle(QueueID, epoch: UInt32, tag: UInt64, Settlement)
    /// The broker has stopped reading from a publishing connection: another one replaces it.
    case replacePublisher(PublisherRole)
}

/// How much a worker takes from the broker.
package enum Intake: Sendable {
    /// Up to the prefetch.
    case full
    /// One message from each queue.
    case one
    case none
}

/// The reason to withdraw a notification from its pool.
package enum Withdrawal: Equatable {
    /// It waits in a closed lane.
    case hold(Waiting.Place)
    /// It was a probe, and the credential is refused again.
    case refuse(LaneGate.Cause)
    /// Its app uses another pool, or was removed.
    case resend
    /// It goes to a retry queue.
    case park
    /// It returns to its queue, or goes to a retry queue if another part of its request has ended.
    case requeue
    /// It is forgotten: the broker redelivers it.
    case drop
}
