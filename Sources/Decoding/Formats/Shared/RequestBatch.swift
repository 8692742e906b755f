public import Core

/// The notifications of a message that lists several, under the limit that all of them share. An entry that cannot be
/// sent costs only itself.
public struct RequestBatch {
    private var notifications: [Notification] = []
    private var refusals: [Request.Refusal] = []
    /// The latest one that an entry gives.
    private var notBefore: Int64?
    private let place: StaticString
    private var index = -1

    /// - Parameter place: what the list is called, for failures.
    public init(_ place: StaticString) {
        self.place = place
    }

    private var count: Int { notifications.count + refusals.count }

    /// One entry of the list; what is wrong with it is told with its place, and takes up one among the notifications.
    ///
    /// - Parameter read: makes a request of the entry; `nil` where it means nobody.
    /// - Throws: where there are more notifications than one message may have.
    public mutating func add(_ read: () throws(DecodingFailure) -> Request?) throws(DecodingFailure) {
        index += 1
        let position = count
        do throws(DecodingFailure) {
            guard let found = try read() else { return }
            notifications += found.notifications
            if let time = found.notBefore { notBefore = max(notBefore ?? time, time) }
            for refusal in found.refusals {
                refuse(refusal.failure, at: position + refusal.position, id: refusal.id)
            }
        } catch {
            refuse(error, at: position, id: nil)
        }
        guard count <= RequestFields.maximumTokens else { throw RequestFields.badCount(count) }
    }

    private mutating func refuse(_ failure: DecodingFailure, at position: Int, id: NotificationID?) {
        let placed = DecodingFailure("\(place)[\(index)].\(failure.detail)", limit: failure.limit)
        refusals.append(Request.Refusal(position: position, placed, id: id))
    }

    /// One request with all notifications, in the order of the list; to ignore where there is none.
    ///
    /// - Parameters:
    ///   - key: what the message's own format calls it.
    ///   - reason: why there may be none.
    public func decoded(key: ArraySlice<UInt8>? = nil, else reason: String) -> Decoded {
        count == 0
            ? .ignore(reason: reason)
            : .request(Request(notifications, refusals: refusals, key: key, notBefore: notBefore))
    }
}

extension JSONPart {
    /// The body of a message that is one JSON object.
    ///
    /// - Parameter body: is read as a whole: grammar, escapes, UTF-8, and no more than 64 brackets around a value.
    /// - Throws: where it is none, with the place of the first byte that is wrong.
    public static func object(_ body: ArraySlice<UInt8>) throws(DecodingFailure) -> JSONPart {
        try object(body, called: "body")
    }

    /// - Parameter place: what to call it in a failure.
    static func object(_ text: ArraySlice<UInt8>, called place: String) throws(DecodingFailure) -> JSONPart {
        let part = try JSONPart(text, called: place)
        guard part.kind == .object else {
            throw DecodingFailure("\(place): expected a JSON object, found \(part.kind.name)")
        }
        return part
    }
}

extension RequestFields {
    /// What a message of another format leaves open and its AMQP headers say, under our own names.
    public mutating func fill(from delivery: Delivery) {
        delivery.forEachHeader(named: { Name($0) }) { name, value in
            let value = Value(value)
            switch name {
            case .deviceTokens:
                if case (.missing, nil, .text(let text)) = (deviceToken, deviceTokens, value) {
                    deviceTokens = APNsHeadersDecoder.split(text)
                }
            case .deviceToken, .channelID:
                guard deviceTokens == nil, case (.missing, .missing) = (deviceToken, channelID) else { return }
                set(name, value)
            case .payload, .channel: return
            default:
                if case .missing = self.value(name) { set(name, value) }
            }
        }
    }

    private func value(_ name: Name) -> Value {
        switch name {
        case .deviceToken: deviceToken
        case .channelID: channelID
        case .topic: topic
        case .pushType: pushType
        case .id: id
        case .priority: priority
        case .expiration: expiration
        case .collapseID: collapseID
        case .environment: environment
        case .notBefore: notBefore
        case .payload, .deviceTokens, .channel: .missing
        }
    }

    /// The end of a time span that begins with the message: at its `timestamp`, else now.
    static func end(of seconds: Int64, _ delivery: Delivery, at now: WallTime) -> Value {
        let start = delivery.timestamp.flatMap { Int64(exactly: $0) } ?? now.seconds
        let (end, overflow) = start.addingReportingOverflow(max(0, seconds))
        return .integer(overflow ? Int64.max : end)
    }
}
