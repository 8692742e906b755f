import Core

/// The notifications of a message that lists several, under the limit that all of them share.
struct RequestBatch {
    private var notifications: [Notification] = []
    private let place: StaticString
    private var index = -1

    /// - Parameter place: what the list is called, for failures.
    init(_ place: StaticString) {
        self.place = place
    }

    /// One entry of the list; a failure is told with its place.
    mutating func add(_ read: () throws(DecodingFailure) -> Request?) throws(DecodingFailure) {
        index += 1
        let found: Request?
        do throws(DecodingFailure) {
            found = try read()
        } catch {
            throw DecodingFailure("\(place)[\(index)].\(error.detail)", limit: error.limit)
        }
        guard let found else { return }
        notifications += found.notifications
        guard notifications.count <= RequestFields.maximumTokens else {
            throw RequestFields.badCount(notifications.count)
        }
    }

    /// - Parameter reason: why there may be none.
    func decoded(else reason: String) -> Decoded {
        notifications.isEmpty ? .ignore(reason: reason) : .request(Request(notifications))
    }
}

extension JSONPart {
    /// The body of a message that is one JSON object.
    static func object(_ body: ArraySlice<UInt8>) throws(DecodingFailure) -> JSONPart {
        let part: JSONPart
        do throws(JSONFailure) {
            part = try JSONPart(body)
        } catch {
            throw DecodingFailure(error)
        }
        guard part.kind == .object else {
            throw DecodingFailure("body: expected a JSON object, found \(part.kind.name)")
        }
        return part
    }
}

extension RequestFields {
    /// What a message of another format leaves open and its headers say, under our own names.
    mutating func fill(from delivery: Delivery) {
        delivery.forEachHeader { name, value in
            guard let name = Name(name) else { return }
            let value: Value =
                switch value {
                case .text(let text): .text(text)
                case .integer(let integer): .integer(integer)
                default: .other
                }
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
