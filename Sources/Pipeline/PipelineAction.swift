package import Core
import DequeModule

/// The actions of ``Intake``, ``Dispatch`` and ``Outbox``. The owner executes each before the next input.
///
/// The sequence for one message: ``start(_:_:)``, ``submit(_:_:isProbe:)``, ``finish(_:_:givesFeedback:)``, publish and
/// confirm of the result, ``complete(_:)``, ``settle(_:_:)``.
package enum PipelineAction {
    // MARK: Intake

    /// Change how much is consumed from the broker.
    case take(Intake.Level)
    /// Decode a message with one of ``PipelineSettings/processes``: ``Intake/decoded(_:_:at:)``.
    case ask(Int, Handle, Delivery)
    /// Start a decoded request: ``Dispatch/start(_:of:at:)``.
    case start(Request, InFlightRequest)
    /// A message is not a valid request: ``Outbox/refuse(_:_:id:)``.
    case refuse(InFlightRequest, DecodingFailure, NotificationID?)
    /// The decoder defers a message: ``Outbox/postpone(_:for:at:)``.
    case postpone(InFlightRequest, Duration)
    /// Settle a delivery of the current epoch.
    case settle(Delivery, Settlement)

    // MARK: Dispatch

    /// Submit a notification to its pool: ``Dispatch/responded(_:_:at:)``, ``Dispatch/lost(_:_:at:)`` or
    /// ``Dispatch/expired(_:at:)``. A probe needs a new connection, which APNs binds to the current credential.
    case submit(Handle, InFlightNotification, isProbe: Bool)
    /// Withdraw a notification from a pool: ``Dispatch/withdrawn(_:_:at:)`` or ``Dispatch/wasSent(_:)``.
    case withdraw(Handle, pool: PoolID, Withdrawal)
    /// A notification has its outcome: ``Outbox/finish(_:_:givesFeedback:at:)``.
    case finish(InFlightNotification, Report, givesFeedback: Bool)
    /// A notification or message ended without being sent: ``Outbox/conclude(_:at:)``.
    indirect case conclude(Conclusion)
    /// A notification waits for a later round: ``Outbox/park(_:requeues:at:)``.
    case park(ParkedNotification, requeues: Bool)
    /// The broker redelivers an unsent request: ``Intake/drop(_:)``.
    case drop(InFlightRequest)
    /// No app can send: ``Intake/suspend()``.
    case suspend
    /// No app can send yet: ``Intake/stays(isProbeWanted:)``.
    case staySuspended(isProbeWanted: Bool)
    /// An app can send again: ``Intake/resume()``.
    case resume

    // MARK: Outbox

    /// The broker has stopped reading from a publishing connection: another one replaces it.
    case replacePublisher(PublisherRole)
    /// All parts of a request have ended: ``Intake/complete(_:at:)``.
    case complete(InFlightRequest)
    /// An unsent request returns to its queue: ``Intake/requeue(_:)``.
    case requeue(InFlightRequest)
    /// A request waits in the worker, at most this long: ``Intake/decodeLater(_:for:at:)``.
    case decodeLater(InFlightRequest, Duration)
}

/// The end of a notification, or of a message that could not be decoded, with the content of its result.
package struct Conclusion {
    let request: InFlightRequest
    /// `nil` if ``entry`` has it, or if the message could not be decoded.
    let notification: Notification?
    /// The position in its request; `nil` for a single notification.
    let position: Int?
    let id: NotificationID?
    /// `nil` if no app was found.
    var entry: InFlightNotification?
    /// What could be read of an invalid request or of an entry of a fan-out.
    private var known: DecodingFailure.Known?
    var report: Report
    /// Whether an `unregistered` result goes to the feedback queue as well.
    var givesFeedback = true

    init(_ entry: InFlightNotification, _ report: consuming Report, givesFeedback: Bool) {
        self.init(request: entry.request, position: entry.position, id: entry.id, report: report)
        self.entry = entry
        self.givesFeedback = givesFeedback
    }

    package init(
        request: InFlightRequest, notification: Notification? = nil, position: Int? = nil, id: NotificationID?,
        report: consuming Report
    ) {
        self.request = request
        self.notification = notification
        self.position = position
        self.id = id
        self.report = report
    }

    /// An invalid request, or an entry of a fan-out.
    init(_ request: InFlightRequest, _ failure: DecodingFailure, position: Int? = nil, id: NotificationID?) {
        self.init(
            request: request, position: position, id: id, report: Report(outcome: .invalid, detail: failure.detail))
        known = failure.known
    }

    var target: Notification.Target? { entry?.notification.target ?? notification?.target ?? known?.target }
    var topic: ArraySlice<UInt8>? { entry?.topic ?? notification?.topic ?? known?.topic }
    var environment: Environment? { entry?.environment ?? notification?.environment ?? known?.environment }
    var pushType: PushType? { entry?.notification.pushType ?? notification?.pushType }
}

/// The reason to withdraw a notification from its pool.
package enum Withdrawal {
    /// It waits in a closed lane.
    case hold(Waiting.Place)
    /// It was a probe, and the credential is refused again.
    case refuse(LaneGate.Cause)
    /// Its app uses another pool, or was removed.
    case resend
    /// It leaves this worker.
    case stopWaiting(WaitDestination)
}

/// The destination of a notification that stops waiting in this worker.
package enum WaitDestination {
    /// A retry queue.
    case park
    /// Its queue, or a retry queue if another part of its request has ended.
    case requeue
    /// None: the broker redelivers it.
    case drop
}

/// The actions of the three parts of one worker, in order.
///
/// An object, because polling three queues after every call costs a request 2 % more.
package final class ActionQueue {
    private var actions = Deque<PipelineAction>()

    package init() {}

    func append(_ action: consuming PipelineAction) {
        actions.append(action)
    }

    /// Call this after every change, until it returns `nil`.
    package func next() -> PipelineAction? {
        actions.popFirst()
    }
}
