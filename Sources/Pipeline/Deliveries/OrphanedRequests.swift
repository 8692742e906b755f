/// The open requests whose connection is gone, by what identifies them should they be redelivered.
///
/// Requests that look the same have one key, and each of them is redelivered on its own: each redelivery adopts one,
/// and which one does not matter. Each is a delivery that the broker once counted as unacknowledged, so prefetch bounds
/// how many a lost connection adds.
package struct OrphanedRequests {
    private var requests: [RedeliveryKey: [InFlightRequest]] = [:]

    package init() {}

    package var isEmpty: Bool {
        requests.isEmpty
    }

    package var count: Int {
        requests.values.reduce(0) { $0 + $1.count }
    }

    /// The connection of a request is gone. Does nothing if it was gone already.
    package mutating func insert(_ request: InFlightRequest) {
        guard !request.isOrphan else { return }
        request.isOrphan = true
        requests[request.redeliveryKey, default: []].append(request)
    }

    /// A request was redelivered: takes one that it may be, the oldest first.
    package mutating func adopt(_ key: RedeliveryKey) -> InFlightRequest? {
        guard let request = requests[key]?.first else { return nil }
        remove(request, key)
        return request
    }

    /// Takes out a request, and none that looks the same.
    ///
    /// - Returns: What it was kept under.
    @discardableResult
    package mutating func remove(_ request: InFlightRequest) -> RedeliveryKey {
        let key = request.redeliveryKey
        remove(request, key)
        return key
    }

    private mutating func remove(_ request: InFlightRequest, _ key: RedeliveryKey) {
        guard let index = requests[key]?.firstIndex(where: { $0 === request }) else {
            preconditionFailure("an orphan is adopted or finished once")
        }
        requests[key]?.remove(at: index)
        if requests[key]?.isEmpty == true { requests[key] = nil }
        request.isOrphan = false
    }
}
