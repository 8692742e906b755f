import AMQP
import Configuration
import Core
import Runtime

/// Checks every broker and every APNs service of a configuration concurrently, without side effects.
final class ConnectionCheck: Run {
    /// The number of endpoints checked concurrently: Apple may treat many simultaneous connections as an attack.
    private static let atOnce = 8

    enum Peer: String {
        case broker, apns
    }

    /// One endpoint, with its check.
    struct Place {
        let peer: Peer
        let endpoint: Endpoint
        let purpose: String
        fileprivate let begin: (Instant) throws -> any PlaceCheck
        fileprivate var check: (any PlaceCheck)?
        /// Why the check did not start, or that it was stopped.
        fileprivate var failure: ConnectionFinding?

        fileprivate var isWaiting: Bool { check == nil && failure == nil }
        fileprivate var isRunning: Bool { check?.isFinished == false }
        fileprivate var isFinished: Bool { !isWaiting && !isRunning }
        var findings: [ConnectionFinding] { (check?.findings ?? []) + [failure].compactMap(\.self) }
    }

    private let configuration: Configuration
    private let network: any Network
    private var random: SplitMix64
    /// Brokers first, in the order of the configuration.
    private(set) var places: [Place] = []

    init(_ configuration: Configuration, network: any Network, seed: UInt64, at now: Moment) {
        self.configuration = configuration
        self.network = network
        random = SplitMix64(seed: seed)
        places = configuration.broker.endpoints.map(brokerPlace) + APNsTarget.all(configuration).map(apnsPlace)
        start(at: now.instant)
    }

    private func brokerPlace(_ secret: Secret) -> Place {
        var settings = configuration.broker
        settings.endpoints = [secret]
        let address = settings.addresses[0]
        return Place(peer: .broker, endpoint: address.endpoint, purpose: "virtual host \"\(address.virtualHost)\"") {
            [unowned self, settings] now in
            try BrokerCheck(address, configuration, at: now) { role in
                try BrokerConnections.connection(
                    role, name: "harebell check", settings, network: network, seed: random.next(),
                    connectTimeout: BrokerProgress.attempt)
            }
        }
    }

    private func apnsPlace(_ target: APNsTarget) -> Place {
        Place(peer: .apns, endpoint: target.endpoint, purpose: target.text) { [unowned self] now in
            try APNsCheck(
                target, context: try target.identity.makeContext(), tokens: try ProviderTokens([target.app]),
                network: network, requestID: .random(using: &random), at: now)
        }
    }

    var isFinished: Bool { places.allSatisfy(\.isFinished) }

    var nextDeadline: Instant? {
        places.compactMap { $0.check?.nextDeadline }.min()
    }

    func step(at now: Moment) {
        for place in places where place.isRunning { place.check?.step(at: now) }
        start(at: now.instant)
    }

    var progress: (done: Int, of: Int) { (places.count(where: \.isFinished), places.count) }

    func trouble(at now: Instant) -> String? {
        places.lazy.filter(\.isRunning).compactMap { $0.check?.trouble(at: now) }.first
    }

    func stop(at now: Moment) {
        for index in places.indices where !places[index].isFinished {
            places[index].check?.stop(at: now)
            places[index].failure = ConnectionFinding(.unreachable, "connection", "stopped")
        }
    }

    private func start(at now: Instant) {
        for index in places.indices where places[index].isWaiting && places.count(where: \.isRunning) < Self.atOnce {
            let subject = places[index].peer == .broker ? "tls" : "credential"
            do {
                places[index].check = try places[index].begin(now)
            } catch let error as any ComponentError {
                places[index].failure = .failure(subject, error)
            } catch {
                places[index].failure = ConnectionFinding(.wrong, subject, "\(error)")
            }
        }
    }
}

protocol PlaceCheck: Run {
    var findings: [ConnectionFinding] { get }
}
