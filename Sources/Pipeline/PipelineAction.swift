package import Core

/// What the pipeline asks its worker for.
package enum PipelineAction {
    /// Hand a notification to its pool; its end comes back as ``Pipeline/replied(_:_:at:)``, ``Pipeline/lost(_:_:at:)``
    /// or ``Pipeline/expired(_:at:)``. A probe needs a connection that APNs binds anew.
    case submit(UInt32, InFlightNotification, isProbe: Bool)
    /// Take a notification back from a pool: ``Pipeline/tookBack(_:_:at:)``, or ``Pipeline/wasSent(_:)``.
    case withdraw(UInt32, pool: Int, Withdrawal)
    /// From now on take so much from the broker.
    case take(Intake)
    /// Have one of ``PipelineSettings/processes`` read a message; the answer comes back as
    /// ``Pipeline/decoded(_:_:at:)``.
    case ask(Int, UInt32, Delivery)
    /// Tell the broker the end of a delivery of the current epoch.
    case settle(Delivery, Settlement)
}

/// What a notification is taken back from its pool for.
package enum Withdrawal {
    /// It waits for its app.
    case hold(lane: Int)
    /// It was a probe, and the credential is refused again.
    case refuse(AppGate.Cause)
    /// It waits in a retry queue.
    case park
    /// It goes back to its queue, or waits in a retry queue where something of its request has ended.
    case giveBack
    /// The broker delivers it again.
    case drop
    /// Its app has another pool, or is not there any more.
    case resend
}
