import APNs
import Core
import Simulator
import System
import TestSupport
import Testing

/// Real sockets, and a relay that injects faults. All limits are small to keep the tests short.
@Suite("A pool over sockets")
struct SocketTests {
    private static func impatient(_ configuration: inout APNsPool.Configuration) {
        configuration.engine.stallLimit = .milliseconds(300)
        configuration.engine.pongTimeout = .milliseconds(300)
    }

    @Test(
        "requests are answered through a relay, and a reset connection is replaced with a resumed TLS session")
    func reset() throws {
        let rig = try SocketRig()
        try rig.run { rig.connects == 1 }
        try rig.ask()
        rig.relay.reset()
        try rig.run { rig.connects == 2 }
        try rig.ask()
        #expect(rig.disconnects.map(\.?.code) == [.transport])
        #expect(rig.server.ledger.statistics.connections == 2)
        #expect(rig.server.ledger.statistics.resumedConnections == 1)
    }

    @Test("a request in flight when the connection was reset may have been processed")
    func lostRequest() throws {
        let rig = try SocketRig(script: "token *: silence")
        try rig.run { rig.connects == 1 }
        let handle = rig.submit()
        try rig.run { rig.server.ledger.statistics.silences == 1 }
        rig.relay.reset()
        try rig.run { rig.losses[handle] != nil && rig.connects == 2 }
        #expect(rig.losses[handle]?.processed == .unknown)
        let detail = rig.losses[handle]?.detail ?? ""
        #expect(detail.hasPrefix("the connection was lost: lost the connection to 127.0.0.1:"), "\(detail)")
        #expect(detail.hasSuffix("Connection reset by peer (ECONNRESET), after it was sent"), "\(detail)")
    }

    @Test("one byte at a time works")
    func oneByte() throws {
        var conduct = FaultRelay.Conduct()
        conduct.largestPiece = 1
        let rig = try SocketRig(conduct)
        try rig.ask()
        #expect(rig.connects == 1)
        #expect(rig.relay.carried > 2_000)
        #expect(rig.server.ledger.failures.isEmpty)
    }

    @Test("latency in each direction costs only time")
    func delay() throws {
        var conduct = FaultRelay.Conduct()
        conduct.delayToTarget = .milliseconds(30)
        conduct.delayToClient = .milliseconds(30)
        let rig = try SocketRig(conduct)
        try rig.run { rig.connects == 1 }
        let begun = SystemClock.now().instant
        try rig.ask()
        #expect(SystemClock.now().instant - begun >= .milliseconds(60))
    }

    @Test(
        "when bytes vanish, a PING detects it, the waiting requests end as unknown, and a new connection takes over"
    )
    func blackHole() throws {
        let rig = try SocketRig(configure: Self.impatient)
        try rig.ask()
        var conduct = FaultRelay.Conduct()
        conduct.isBlackHole = true
        rig.relay.behave(conduct)
        let handles = [rig.submit(), rig.submit()]
        try rig.run { handles.allSatisfy { rig.losses[$0] != nil } }
        #expect(handles.allSatisfy { rig.losses[$0]?.processed == .unknown })
        #expect(rig.disconnects.contains { $0?.code == .stalled })
        rig.relay.behave(FaultRelay.Conduct())
        try rig.ask()
    }

    @Test("an unused half-open connection is detected by the idle PING, and replaced")
    func halfOpen() throws {
        let rig = try SocketRig {
            $0.engine.pingIdle = .milliseconds(300)
            $0.engine.pongTimeout = .milliseconds(300)
        }
        try rig.ask()
        let before = rig.connects
        rig.relay.loseTarget()
        try rig.run { rig.disconnects.contains { $0?.code == .stalled } && rig.connects > before }
        try rig.ask()
    }

    @Test("an APNs that accepts connections and stays silent is given up at the handshake limit, at a limited rate")
    func silent() throws {
        var conduct = FaultRelay.Conduct()
        conduct.isBlackHole = true
        let rig = try SocketRig(conduct) {
            $0.engine.handshakeTimeout = .milliseconds(50)
            $0.backoff = Backoff(base: .milliseconds(1), limit: .milliseconds(2))
            $0.maximumConnectsPerMinute = 8
        }
        let handle = rig.submit()
        try rig.run { rig.disconnects.count == 4 }
        try rig.pass(.milliseconds(300))
        #expect(
            rig.disconnects.map(\.?.code) == Array(repeating: .handshakeTimeout, count: 4),
            "half of a minute's attempts")
        #expect(rig.relay.accepted == 4)
        #expect(rig.losses[handle] == nil && rig.responses[handle] == nil, "it waits")
    }

    @Test("refused connects never exceed the cap, and queued requests are sent once the server is back")
    func refused() throws {
        let rig = try SocketRig {
            $0.backoff = Backoff(base: .milliseconds(1), limit: .milliseconds(2))
            $0.maximumConnectsPerMinute = 20
        }
        try rig.ask()
        rig.relay.refuse()
        rig.relay.reset()
        try rig.run { rig.pool.statistics(at: SystemClock.now().instant).counters[.connects] == 10 }
        try rig.pass(.milliseconds(300))
        #expect(rig.pool.statistics(at: SystemClock.now().instant).counters[.connects] == 10)
        #expect(rig.disconnects.dropFirst().allSatisfy { "\(String(describing: $0))".contains("ECONNREFUSED") })
    }
}
