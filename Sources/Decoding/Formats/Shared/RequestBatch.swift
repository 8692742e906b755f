import Core

/// The notifications of a message that lists several, with a shared limit. An invalid entry does not affect the
/// others.
struct RequestBatch {
    private var notifications: [Notification] = []
    private var refusals: [Request.Refusal] = []
    /// The latest value of any entry.
    private var notBefore: Int64?
    private var remarks = Remarks()
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
    /// - Throws: if the message has too many notifications.
    mutating func add(_ read: () throws(DecodingFailure) -> Request) throws(DecodingFailure) {
        index += 1
        let position = count
        do throws(DecodingFailure) {
            let found = try read()
            notifications += found.notifications
            if let time = found.notBefore { notBefore = max(notBefore ?? time, time) }
            if let hint = found.hint { remarks.add("\(place)[\(index)].\(hint)") }
            for refusal in found.refusals {
                refuse(refusal.failure, at: position + refusal.position)
            }
        } catch {
            refuse(error, at: position)
        }
        guard count <= RequestFields.maximumTokens else { throw RequestFields.badCount(count) }
    }

    private mutating func refuse(_ failure: DecodingFailure, at position: Int) {
        let placed = DecodingFailure("\(place)[\(index)].\(failure.detail)", limit: failure.limit, known: failure.known)
        refusals.append((position, placed))
    }

    func request(key: ArraySlice<UInt8>?) -> Request {
        Request(notifications, refusals: refusals, key: key, notBefore: notBefore, hint: remarks.text)
    }
}
