import Core

/// The notifications of a message that lists several, with a shared limit. An invalid entry does not affect the
/// others.
struct RequestBatch {
    private var notifications: [Notification] = []
    private var refusals: [Request.Refusal] = []
    /// The latest value of any entry.
    private var notBefore: Int64?
    private let place: StaticString
    private var index = -1

    /// - Parameter place: the name of the list in errors.
    init(_ place: StaticString) {
        self.place = place
    }

    private var count: Int { notifications.count + refusals.count }

    /// Adds one entry of the list. An error is reported with the entry's index and occupies one position among the
    /// notifications.
    ///
    /// - Parameter read: makes a request from the entry; `nil` to skip it.
    /// - Throws: if the message has too many notifications.
    mutating func add(_ read: () throws(DecodingFailure) -> Request?) throws(DecodingFailure) {
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

    /// One request with all notifications in list order, or ignored if there are none.
    ///
    /// - Parameters:
    ///   - key: the request's identifier in the message's own format.
    ///   - reason: why the list can be empty.
    func decoded(key: ArraySlice<UInt8>? = nil, else reason: String) -> Decoded {
        count == 0
            ? .ignore(reason: reason)
            : .request(Request(notifications, refusals: refusals, key: key, notBefore: notBefore))
    }
}
