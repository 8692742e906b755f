import AMQP
import APNs
package import Configuration
package import Core
import Proxy
import Runtime
import TLS

/// Looks at every broker and every service of APNs that a configuration names, side by side, and changes nothing there.
/// Sans-IO like a worker.
///
/// The owner calls ``step(at:)`` at the end of each turn and when ``nextDeadline`` has passed, until ``isOver``.
package final class ConnectionCheck {
    /// So many services of APNs are looked at at once: to Apple, many connections in a moment look like an attack.
    private static let atOnce = 8

    fileprivate enum Look {
        /// It could not even begin.
        case failed(ConnectionFinding)
        case broker(BrokerCheck)
        case waiting(APNsTarget)
        case apns(APNsCheck)
    }

    fileprivate struct Place {
        let peer: ConnectionReport.Peer
        let endpoint: Endpoint
        let purpose: String
        var look: Look
    }

    private let configuration: Configuration
    private let network: any Network
    private let lookedUp: LookedUp
    private var random: SplitMix64
    private var places: [Place] = []

    /// - Parameters:
    ///   - broker: the way to brokers.
    ///   - apns: the way to APNs and its proxies.
    package init(
        _ configuration: Configuration, broker: any Network, apns: any Network, lookedUp: @escaping LookedUp,
        seed: UInt64, at now: Moment
    ) {
        self.configuration = configuration
        self.lookedUp = lookedUp
        network = apns
        random = SplitMix64(seed: seed)
        for endpoint in configuration.broker.endpoints { add(endpoint, over: broker, at: now.instant) }
        for target in APNsTarget.all(configuration) {
            places.append(
                Place(peer: .apns, endpoint: target.endpoint, purpose: target.text, look: .waiting(target)))
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
                look: look(at: address, secret, over: network, now)))
    }

    private func look(at address: BrokerAddress, _ secret: Secret, over network: any Network, _ now: Instant) -> Look {
        var settings = configuration.broker
        settings.endpoints = [secret]
        do {
            return .broker(
                try BrokerCheck(address, configuration, lookedUp: lookedUp, at: now) { role in
                    try BrokerConnections.connection(
                        role, name: "harebell check", settings, network: network, seed: random.next())
                })
        } catch let error as any ComponentError {
            return .failed(.failure("tls", error))
        } catch {
            return .failed(ConnectionFinding(.wrong, "tls", "\(error)"))
        }
    }

    // MARK: Time

    package var isOver: Bool { places.allSatisfy(\.isOver) }

    package var nextDeadline: Instant? {
        places.compactMap { place in
            switch place.look {
            case .broker(let check): check.nextDeadline
            case .apns(let check): check.nextDeadline
            case .failed, .waiting: nil
            }
        }.min()
    }

    package func step(at now: Moment) {
        for place in places where !place.isOver {
            switch place.look {
            case .broker(let check): check.step(at: now)
            case .apns(let check): check.step(at: now)
            case .failed, .waiting: break
            }
        }
        start(at: now.instant)
    }

    /// How many of the places are done, of how many.
    package var progress: (done: Int, of: Int) { (places.count(where: \.isOver), places.count) }

    /// Ends it where it is.
    package func stop(at now: Instant) {
        for index in places.indices where !places[index].isOver {
            switch places[index].look {
            case .broker(let check): check.stop(at: now)
            case .apns(let check): check.stop()
            case .waiting: places[index].look = .failed(ConnectionFinding(.unreachable, "connection", "stopped"))
            case .failed: break
            }
        }
    }

    /// Begins what waits.
    private func start(at now: Instant) {
        var running = places.count { place in
            if case .apns(let check) = place.look { !check.isOver } else { false }
        }
        for index in places.indices where running < Self.atOnce {
            guard case .waiting(let target) = places[index].look else { continue }
            places[index].look = look(at: target, now)
            running += 1
        }
    }

    private func look(at target: APNsTarget, _ now: Instant) -> Look {
        do {
            return .apns(
                try APNsCheck(
                    target, configuration.apns, context: try target.identity.makeContext(),
                    tokens: try ProviderTokens([target.app]), network: network, lookedUp: lookedUp,
                    requestID: .random(using: &random), at: now))
        } catch let error as any ComponentError {
            return .failed(.failure("credential", error))
        } catch {
            return .failed(ConnectionFinding(.wrong, "credential", "\(error)"))
        }
    }

    // MARK: What was found

    /// One for each place: the brokers first, both in the order of the configuration.
    package var reports: [ConnectionReport] {
        places.map { place in
            ConnectionReport(
                peer: place.peer, endpoint: place.endpoint, purpose: place.purpose, findings: place.findings)
        }
    }
}

extension ConnectionCheck.Place {
    var isOver: Bool {
        switch look {
        case .failed: true
        case .broker(let check): check.isOver
        case .apns(let check): check.isOver
        case .waiting: false
        }
    }

    var findings: [ConnectionFinding] {
        switch look {
        case .failed(let finding): [finding]
        case .broker(let check): check.findings
        case .apns(let check): check.findings
        case .waiting: []
        }
    }
}
