import Core

/// The addresses to which connects failed recently: other connects of this process try the other addresses of a name
/// first.
///
/// All loops of a process share it through their resolver.
package final class FailedAddresses: Sendable {
    /// How long a failure is remembered.
    package static let memory = Duration.seconds(60)
    /// The maximum number of addresses; above it, the oldest is removed.
    package static let maximum = 256

    private let failures = Guarded<[Endpoint: Instant]>([:])

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

    /// The `addresses` without a recent failure, then the others, each in the given order.
    func last(_ addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
        let endpoints = addresses.map(\.endpoint)
        let hasFailed = failures.withLock { failures in
            endpoints.map { endpoint in failures[endpoint].map { now < $0 + Self.memory } ?? false }
        }
        let marked = zip(addresses, hasFailed)
        return marked.filter { !$1 }.map(\.0) + marked.filter { $1 }.map(\.0)
    }
}
