import APNs
import Core
import TestSupport
import Testing

/// Peers without usable TLS: requests wait, attempts back off, the cause is reported, and a correct peer is used at
/// once.
@Suite("A pool and peers without TLS")
struct PoolTLSTests {
    /// One for each error code; the words for other faults are tested with TLS.
    enum Peer: CaseIterable, Sendable {
        case expired, http1, hangsUp

        func join(_ world: World) throws {
            switch self {
            case .expired: world.serverContext = try Fixture.serverContext(validUntil: .seconds(-3600))
            case .http1: world.serverContext = try Fixture.serverContext(protocols: ["http/1.1"])
            case .hangsUp: world.onDial = { $0.hangsUp = true }
            }
        }

        /// The code of the error, and the message for the operator.
        var error: (code: APNsError.Code, words: String) {
            switch self {
            case .expired: (.tls, "expired on 2026-")
            case .http1: (.noHTTP2, "agreed to no application protocol (offered: h2)")
            case .hangsUp: (.connectionClosed, "closed the connection without GOAWAY")
            }
        }
    }

    @Test("It waits, backs off, reports the cause, and recovers once the peer is correct", arguments: Peer.allCases)
    func waits(peer: Peer) throws {
        let world = try World { $0.connections = 2...4 }
        try peer.join(world)
        world.submit(0..<5)
        world.pass(.seconds(300))
        #expect(world.endings == 0 && world.pool.waitingCount == 5)
        #expect((11...60).contains(world.dialledAt.count), "\(world.dialledAt.count)")
        #expect(Set(world.dialledAt).count == world.dialledAt.count - 1, "after the first two, one at a time")
        #expect(world.alarms == [.unreachable(failures: 10)] && world.disconnects.count >= 10)
        for error in Set(world.disconnects.map { $0.map { "\($0.code.rawValue) \($0)" } ?? "nothing" }) {
            #expect(error.hasPrefix(peer.error.code.rawValue) && error.contains(peer.error.words))
        }
        world.serverContext = try Fixture.serverContext()
        world.onDial = { _ in }
        world.pass(.seconds(60))
        #expect(world.responses.count == 5 && world.alarms.last == .reachable)
    }
}
