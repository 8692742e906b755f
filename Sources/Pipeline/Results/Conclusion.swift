import APNs
package import Core

/// The end of a notification, or of a message that could not be decoded, with the content of its result.
package struct Conclusion {
    let request: InFlightRequest
    /// The position in its request; `nil` for a single notification.
    let position: Int?
    let id: NotificationID?
    var report: Report
    /// `nil` if no app was found.
    let app: AppID?
    // What could be read, of an invalid request as well.
    let target: Notification.Target?
    let topic: ArraySlice<UInt8>?
    let environment: Environment?
    let pushType: PushType?
}

extension Conclusion {
    package init(
        request: InFlightRequest, notification: Notification? = nil, position: Int? = nil, id: NotificationID?,
        report: consuming Report
    ) {
        self.init(
            request: request, position: position, id: id, report: report, app: nil, target: notification?.target,
            topic: notification?.topic, environment: notification?.environment, pushType: notification?.pushType)
    }

    /// An invalid request, or an entry of a fan-out.
    init(_ request: InFlightRequest, _ failure: DecodingFailure, position: Int? = nil, id: NotificationID?) {
        self.init(
            request: request, position: position, id: id, report: request.history.invalid(failure.detail), app: nil,
            target: failure.known?.target, topic: failure.known?.topic, environment: failure.known?.environment,
            pushType: nil)
    }
}

extension RequestHistory {
    /// A request that cannot be sent. Its app or its decoder may have changed since an attempt.
    func invalid(_ detail: String) -> Report {
        Report(
            outcome: attempts > 0 ? .undelivered : .invalid, attempts: attempts,
            processed: processed == .unknown ? .unknown : .no, detail: detail)
    }
}

extension InFlightNotification {
    /// A function with the memberwise initializer, because any other initializer would copy its result.
    func conclusion(_ report: consuming Report) -> Conclusion {
        if let finding { report.add(finding) }
        return Conclusion(
            request: request, position: position, id: id, report: report, app: app, target: notification.target,
            topic: topic, environment: environment, pushType: notification.pushType)
    }
}
