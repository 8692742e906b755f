/// The open requests whose connection was lost, by the key of their redeliveries.
///
/// Equal requests share a key. The broker redelivers each of them; each redelivery adopts any one. Each was
/// unacknowledged, so prefetch limits how many a lost connection adds.
package struct OrphanedRequests {
    private var requests: [RedeliveryKey: [InFlightRequest]] = [:]

    package var isEmpty: Bool {
        requests.isEmpty
    }

    /// The connection of a request was lost. Has no effect on an orphan.
    package mutating func insert(_ request: InFlightRequest) {
        guard !request.isOrphan else { return }
        request.isOrphan = true
        requests[request.redeliveryKey, default: []].append(request)
    }

    /// A request was redelivered: removes the oldest with this key.
    package mutating func adopt(_ key: RedeliveryKey) -> InFlightRequest? {
        guard let request = requests[key]?.first else { return nil }
        remove(request)
        return request
    }

    /// Removes exactly this request.
    ///
    /// - Returns: Its key.
    @discardableResult
    package mutating func remove(_ request: InFlightRequest) -> RedeliveryKey {
        let key = request.redeliveryKey
        guard let index = requests[key]?.firstIndex(where: { $0 === request }) else {
            preconditionFailure("an orphan must be adopted or finished once")
        }
        requests[key]?.remove(at: index)
        if requests[key]?.isEmpty == true { requests[key] = nil }
        request.isOrphan = false
        return key
    }
}
