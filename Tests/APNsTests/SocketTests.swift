import APNs
import Core
import Simulator
import System
import TestSupport
import Testing

/// Real sockets, and a relay that injects faults. All limits are small to keep the tests short.
@Suite("A pool over sockets")
struct SocketTests {
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

    @Test(
        "when bytes vanish, a PING detects it, the waiting requests end as unknown, and a new connection takes over"
    )
    func blackHole() throws {
        let rig = try SocketRig { configuration in
            configuration.engine.stallLimit = .milliseconds(300)
            configuration.engine.pongTimeout = .milliseconds(300)
        }
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
}
