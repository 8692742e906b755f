package import Core
import DequeModule

/// What ``Intake``, ``Dispatch`` and ``Outbox`` ask for. Whoever owns them does it at once, before the next input.
///
/// A message's way is: ``start(_:_:)``, ``submit(_:_:isProbe:)``, ``finish(_:_:givesFeedback:)``, its result is
/// published and confirmed, ``complete(_:)``, ``settle(_:_:)``.
package enum PipelineAction {
    // MARK: Of the intake

    /// From now on take so much from the broker.
    case take(Intake.Level)
    /// Have one of ``PipelineSettings/processes`` read a message: ``Intake/decoded(_:_:at:)``.
    case ask(Int, Handle, Delivery)
    /// Send what a message was decoded into: ``Dispatch/start(_:of:at:)``.
    case start(Request, InFlightRequest)
    /// A message is no request: ``Outbox/refuse(_:_:id:)``.
    case refuse(InFlightRequest, DecodingFailure, NotificationID?)
    /// The decoder wants to see a message again after so long: ``Outbox/putOff(_:for:at:)``.
    case putOff(InFlightRequest, Duration)
    /// Tell the broker the end of a delivery of the current epoch.
    case settle(Delivery, Settlement)

    // MARK: Of the dispatch

    /// Hand a notification to its pool: ``Dispatch/replied(_:_:at:)``, ``Dispatch/lost(_:_:at:)`` or
    /// ``Dispatch/expired(_:at:)``. A probe needs a connection that APNs binds anew.
    case submit(Handle, InFlightNotification, isProbe: Bool)
    /// Take a notification back from a pool: ``Dispatch/tookBack(_:_:at:)`` or ``Dispatch/wasSent(_:)``.
    case withdraw(Handle, pool: PoolID, Withdrawal)
    /// A notification has its outcome: ``Outbox/finish(_:_:givesFeedback:at:)``.
    case finish(InFlightNotification, Report, givesFeedback: Bool)
    /// Something ended that was never sent: ``Outbox/conclude(_:at:)``.
    indirect case conclude(Conclusion)
    /// A notification waits for a later round: ``Outbox/park(_:givesBack:at:)``.
    case park(ParkedNotification, givesBack: Bool)
    /// The broker delivers a request again, and nothing was done for it: ``Intake/drop(_:)``.
    case drop(InFlightRequest)
    /// No app can send: ``Intake/suspend()``.
    case suspend
    /// Still none: ``Intake/stays(isProbeWanted:)``.
    case staySuspended(isProbeWanted: Bool)
    /// One can: ``Intake/resume()``.
    case resume

    // MARK: Of the outbox

    /// Nothing of a request is open any more: ``Intake/complete(_:at:)``.
    case complete(InFlightRequest)
    /// A request of which nothing was sent goes back to its queue: ``Intake/giveBack(_:)``.
    case giveBack(InFlightRequest)
    /// A request waits here for so long at most: ``Intake/hold(_:for:at:)``.
    case hold(InFlightRequest, Duration)
}

/// The end of a notification, or of a message that is none, with what its result says.
package struct Conclusion {
    let request: InFlightRequest
    /// `nil` of what could not be decoded.
    var notification: Notification?
    /// Its place among the notifications of its request, or `nil` if it is the only one.
    var position: Int?
    let id: NotificationID?
    /// Of a notification that has an app.
    var entry: InFlightNotification?
    var report: Report
    /// Whether an `unregistered` result goes to the feedback queue as well.
    var givesFeedback = true
}

/// What a notification is taken back from its pool for.
package enum Withdrawal {
    /// It waits for its app.
    case hold(lane: LaneID)
    /// It was a probe, and the credential is refused again.
    case refuse(AppGate.Cause)
    /// Its app has another pool, or was removed.
    case resend
    /// It leaves this worker.
    case leave(Leaving)
}

/// Where a notification goes that is not to wait in this worker.
package enum Leaving {
    /// Into a retry queue.
    case park
    /// Back to its queue, or into a retry queue if something of its request has ended.
    case giveBack
    /// Nowhere: the broker delivers it again.
    case drop
}

/// What the three values of one worker ask for, in the order in which they did.
///
/// An object, because looking into three queues after every call would cost a request 2 % more.
package final class ActionQueue {
    private var actions = Deque<PipelineAction>()

    package init() {}

    func append(_ action: consuming PipelineAction) {
        actions.append(action)
    }

    /// Asked for until it is `nil` after every call that changes anything.
    package func next() -> PipelineAction? {
        actions.popFirst()
    }
}
