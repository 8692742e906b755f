import Core

/// The addresses that lately led to no connection: other connects of this process try their name's other addresses
/// first.
///
/// All loops of a process share it, by their resolver.
package final class FailedAddresses: Sendable {
    /// How long a failure counts.
    package static let memory = Duration.seconds(60)
    /// The most addresses that are remembered; the oldest one makes room.
    package static let maximum = 256

    private let failures = Guarded<[Endpoint: Instant]>([:])

    init() {}

    func failed(_ address: SocketAddress, at now: Instant) {
        let endpoint = address.endpoint
        failures.withLock { failures in
            if failures.count >= Self.maximum, failures[endpoint] == nil,
                let oldest = failures.min(by: { $0.value < $1.value })?.key
            {
                failures[oldest] = nil
            }
            failures[endpoint] = now
        }
    }

    func succeeded(_ address: SocketAddress) {
        let endpoint = address.endpoint
        failures.withLock { failures in
            if !failures.isEmpty { failures[endpoint] = nil }
        }
    }

    /// Those of `addresses` that did not fail lately, then those that did, each in the order given.
    func last(_ addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
        let endpoints = addresses.map(\.endpoint)
        let hasFailed = failures.withLock { failures in
            endpoints.map { endpoint in failures[endpoint].map { now < $0 + Self.memory } ?? false }
        }
        let marked = zip(addresses, hasFailed)
        return marked.filter { !$1 }.map(\.0) + marked.filter { $1 }.map(\.0)
    }
}
