package import Core

/// The end of a notification, or of a message that could not be decoded, with the content of its result.
package struct Conclusion {
    let request: InFlightRequest
    /// The position in its request; `nil` for a single notification.
    let position: Int?
    let id: NotificationID?
    var report: Report
    /// `nil` if no app was found.
    private(set) var app: AppID?
    // What could be read, of an invalid request as well.
    private(set) var target: Notification.Target?
    private(set) var topic: ArraySlice<UInt8>?
    private(set) var environment: Environment?
    private(set) var pushType: PushType?

    package init(
        request: InFlightRequest, notification: Notification? = nil, position: Int? = nil, id: NotificationID?,
        report: consuming Report
    ) {
        self.request = request
        self.position = position
        self.id = id
        self.report = report
        guard let notification else { return }
        target = notification.target
        topic = notification.topic
        environment = notification.environment
        pushType = notification.pushType
    }

    init(_ entry: InFlightNotification, _ report: consuming Report) {
        self.init(request: entry.request, position: entry.position, id: entry.id, report: report)
        app = entry.app
        target = entry.notification.target
        topic = entry.topic
        environment = entry.environment
        pushType = entry.notification.pushType
        if let finding = entry.finding { self.report.add(finding) }
    }

    /// An invalid request, or an entry of a fan-out.
    init(_ request: InFlightRequest, _ failure: DecodingFailure, position: Int? = nil, id: NotificationID?) {
        self.init(
            request: request, position: position, id: id, report: Report(outcome: .invalid, detail: failure.detail))
        target = failure.known?.target
        topic = failure.known?.topic
        environment = failure.known?.environment
    }
}
