import AMQP
import APNs
package import Configuration
package import Core
import Proxy
import Runtime
import TLS

/// Checks every broker and every APNs service of a configuration concurrently, without side effects. Sans-IO like a
/// worker.
package final class ConnectionCheck: Run {
    /// The number of APNs services checked concurrently: Apple may treat many simultaneous connections as an attack.
    private static let atOnce = 8

    fileprivate enum PeerCheck {
        /// The check could not start.
        case failed(ConnectionFinding)
        case waiting(APNsTarget)
        case begun(any PlaceCheck)
    }

    fileprivate struct Place {
        let peer: ConnectionReport.Peer
        let endpoint: Endpoint
        let purpose: String
        var peerCheck: PeerCheck
    }

    private let configuration: Configuration
    private let network: any Network
    private let resolvedNames: ResolvedNames
    private var random: SplitMix64
    private var places: [Place] = []

    /// - Parameters:
    ///   - broker: the network to brokers.
    ///   - apns: the network to APNs and its proxies.
    package init(
        _ configuration: Configuration, broker: any Network, apns: any Network, resolvedNames: @escaping ResolvedNames,
        seed: UInt64, at now: Moment
    ) {
        self.configuration = configuration
        self.resolvedNames = resolvedNames
        network = apns
        random = SplitMix64(seed: seed)
        for endpoint in configuration.broker.endpoints { add(endpoint, over: broker, at: now.instant) }
        for target in APNsTarget.all(configuration) {
            places.append(
                Place(peer: .apns, endpoint: target.endpoint, purpose: target.text, peerCheck: .waiting(target)))
        }
        start(at: now.instant)
    }

    private func add(_ secret: Secret, over network: any Network, at now: Instant) {
        let address: BrokerAddress
        do throws(AMQPError) {
            address = try BrokerAddress(secret.reveal())
        } catch {
            preconditionFailure("a configuration's endpoints have been read before: \(error)")
        }
        places.append(
            Place(
                peer: .broker, endpoint: address.endpoint, purpose: "virtual host \"\(address.virtualHost)\"",
                peerCheck: peerCheck(at: address, secret, over: network, now)))
    }

    private func peerCheck(at address: BrokerAddress, _ secret: Secret, over network: any Network, _ now: Instant)
        -> PeerCheck
    {
        var settings = configuration.broker
        settings.endpoints = [secret]
        return begin("tls") {
            try BrokerCheck(address, configuration, resolvedNames: resolvedNames, at: now) { role in
                try BrokerConnections.connection(
                    role, name: "harebell check", settings, network: network, seed: random.next())
            }
        }
    }

    /// - Parameter subject: of the finding if the check cannot start.
    private func begin(_ subject: String, _ check: () throws -> any PlaceCheck) -> PeerCheck {
        do {
            return .begun(try check())
        } catch let error as any ComponentError {
            return .failed(.failure(subject, error))
        } catch {
            return .failed(ConnectionFinding(.wrong, subject, "\(error)"))
        }
    }

    // MARK: Time

    package var isFinished: Bool { places.allSatisfy(\.isFinished) }

    package var nextDeadline: Instant? {
        places.compactMap { $0.check?.nextDeadline }.min()
    }

    package func step(at now: Moment) {
        for place in places where !place.isFinished { place.check?.step(at: now) }
        start(at: now.instant)
    }

    /// The number of checked endpoints.
    package var progress: (done: Int, of: Int) { (places.count(where: \.isFinished), places.count) }

    package func stop(at now: Moment) {
        for index in places.indices where !places[index].isFinished {
            switch places[index].peerCheck {
            case .begun(let check): check.stop(at: now)
            case .waiting: places[index].peerCheck = .failed(ConnectionFinding(.unreachable, "connection", "stopped"))
            case .failed: break
            }
        }
    }

    /// Starts waiting checks.
    private func start(at now: Instant) {
        var running = places.count { $0.peer == .apns && $0.check?.isFinished == false }
        for index in places.indices where running < Self.atOnce {
            guard case .waiting(let target) = places[index].peerCheck else { continue }
            places[index].peerCheck = peerCheck(at: target, now)
            running += 1
        }
    }

    private func peerCheck(at target: APNsTarget, _ now: Instant) -> PeerCheck {
        begin("credential") {
            try APNsCheck(
                target, configuration.apns, context: try target.identity.makeContext(),
                tokens: try ProviderTokens([target.app]), network: network, resolvedNames: resolvedNames,
                requestID: .random(using: &random), at: now)
        }
    }

    // MARK: Results

    /// One report per endpoint: brokers first, in the order of the configuration.
    package var reports: [ConnectionReport] {
        places.map { place in
            ConnectionReport(
                peer: place.peer, endpoint: place.endpoint, purpose: place.purpose, findings: place.findings)
        }
    }
}

/// A check of one endpoint.
protocol PlaceCheck: Run {
    var findings: [ConnectionFinding] { get }
}

extension ConnectionCheck.Place {
    var check: (any PlaceCheck)? {
        if case .begun(let check) = peerCheck { check } else { nil }
    }

    var isFinished: Bool {
        switch peerCheck {
        case .failed: true
        case .begun(let check): check.isFinished
        case .waiting: false
        }
    }

    var findings: [ConnectionFinding] {
        switch peerCheck {
        case .failed(let finding): [finding]
        case .begun(let check): check.findings
        case .waiting: []
        }
    }
}
