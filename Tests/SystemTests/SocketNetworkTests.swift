import Core
import Testing

@testable import System

@Suite("A socket network")
struct SocketNetworkTests {
    @Test("sends the output of a turn's many messages in one write")
    func batching() throws {
        let fixture = try LoopFixture()
        let server = TestEngine()
        let listener = try fixture.listen { server }
        let client = fixture.connect(port: listener.port)
        try fixture.run { client.isOpen && server.isOpen }
        // Linux may report a socket as readable that has no input. Reading it must end.
        for connection in fixture.network.connections { connection.ready(.readable, at: fixture.loop.now) }

        let turns = fixture.loop.turns
        let drains = client.drains
        var isSaid = false
        fixture.onTurn = {
            guard !isSaid else { return }
            isSaid = true
            for number in 0..<1000 { client.output.append(contentsOf: Array("message \(number);".utf8)) }
        }
        try fixture.run { server.received.count > 10_000 }
        fixture.onTurn = nil
        #expect(server.receipts == 1)
        #expect(server.received.count { $0 == UInt8(ascii: ";") } == 1000)
        #expect(client.drains - drains <= Int(fixture.loop.turns - turns))
    }

    @Test("carries a long stream in order, in any pieces")
    func longStream() throws {
        let fixture = try LoopFixture()
        let size = 2 * 1024 * 1024
        var generator = SplitMix64(seed: 7)
        let message = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        let server = TestEngine.echo()
        let listener = try fixture.listen { server }
        let client = fixture.connect(port: listener.port)
        client.output = message
        try fixture.run { client.received.count == size }
        #expect(client.received == message)
        #expect(server.received == message)
    }

    @Test("an engine disconnected before, while or after it connects gets no more events")
    func disconnect() throws {
        let fixture = try LoopFixture { _ in .success([ConnectTests.address("127.0.0.1", 1)]) }
        var servers: [TestEngine] = []
        let listener = try fixture.listen {
            servers.append(TestEngine())
            return servers.last!
        }

        let wanted = fixture.connect(port: listener.port)
        fixture.network.disconnect(wanted)
        #expect(fixture.network.connectionCount == 0 && fixture.network.nextDeadline == nil)

        let resolving = fixture.connect(to: Endpoint(host: "somewhere", port: 1))
        fixture.network.flush(at: fixture.loop.now)
        fixture.network.disconnect(resolving)

        let connecting = fixture.connect(port: listener.port)
        fixture.network.flush(at: fixture.loop.now)
        fixture.network.disconnect(connecting)
        #expect(fixture.network.connectionCount == 0 && fixture.network.nextDeadline == nil)

        let open = fixture.connect(port: listener.port)
        try fixture.run { open.isOpen }
        fixture.network.disconnect(open)
        fixture.network.disconnect(open)
        // Both established connections reach the listener, and both end there in order.
        let last = fixture.connect(port: listener.port)
        try fixture.run { last.isOpen && fixture.network.openConnections == 2 && servers.count { $0.hasEnded } == 2 }
        for engine in [wanted, resolving, connecting, open] { #expect(engine.endings.isEmpty) }
        for engine in [wanted, resolving, connecting] { #expect(engine.openings == 0) }
    }

    @Test("an engine may be reconnected while its end is reported")
    func reconnectInside() throws {
        let fixture = try LoopFixture()
        let port = try RawSocket.unusedPort()
        var engines: [TestEngine] = []
        func connect() {
            let engine = fixture.connect(port: port)
            engine.onClose = { if engines.count < 5 { connect() } }
            engines.append(engine)
        }
        connect()
        try fixture.run { engines.count == 5 && engines.allSatisfy(\.hasEnded) }
        for engine in engines { engine.onClose = nil }
        #expect(engines.allSatisfy { $0.endings.count == 1 && $0.openings == 0 })
        #expect(fixture.network.connectionCount == 0)
    }

    @Test("does not drain an idle engine that announces its changes, even in the place of one that did not")
    func announced() throws {
        let (fixture, listener) = try LoopFixture.echoing()
        let first = fixture.connect(port: listener.port)
        first.output = [1]
        try fixture.run { first.received == [1] }
        fixture.network.disconnect(first)
        try fixture.run { fixture.network.connectionCount == 0 }
        let (next, greeter) = (TestEngine(), TestEngine())
        for engine in [next, greeter] { engine.announces = true }
        greeter.output = [2]
        let port = try fixture.listen { greeter }.port
        fixture.network.connect(next, to: Endpoint(host: "127.0.0.1", port: port), timeout: .seconds(10))
        try fixture.run { next.received == [2] }
        let drains = next.drains
        for _ in 0..<5 { try fixture.runOneTurn() }
        #expect(next.drains == drains)
    }
}
