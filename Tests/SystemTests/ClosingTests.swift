import Core
import Testing

@testable import System

@Suite("The end of a connection")
struct ClosingTests {
    /// A fixture with one engine that serves one raw peer.
    final class Served {
        let fixture: LoopFixture
        let engine: TestEngine
        let peer: RawSocket
        private let listener: SocketListener

        init(_ engine: TestEngine = TestEngine(), receiveBuffer: Int32? = nil) throws {
            fixture = try LoopFixture()
            self.engine = engine
            listener = try fixture.listen { engine }
            peer = try RawSocket.connected(to: listener.port, receiveBuffer: receiveBuffer)
            try fixture.run { engine.isOpen }
        }
    }

    @Test("a peer that closes in order ends it without an error, after its last bytes were received")
    func endOfFile() throws {
        let served = try Served()
        #expect(served.peer.write(Array("bye".utf8)))
        served.peer.close()
        try served.fixture.run { served.engine.hasEnded }
        #expect(served.engine.received == Array("bye".utf8))
        #expect(served.engine.endings.count == 1)
        #expect(served.engine.failure == nil)
        #expect(served.fixture.network.connectionCount == 0)
    }

    @Test("a reset ends it with ECONNRESET and the endpoint")
    func reset() throws {
        let served = try Served()
        let port = served.peer.port
        try served.peer.resetOnClose()
        served.peer.close()
        try served.fixture.run { served.engine.hasEnded }
        #expect(served.engine.failure?.code.rawValue == "ECONNRESET")
        #expect(served.engine.failure?.message == "lost the connection to 127.0.0.1:\(port): Connection reset by peer")
    }

    @Test("bytes that a peer sent before its reset are received before the failure is reported")
    func lastWordsBeforeReset() throws {
        let served = try Served()
        served.engine.output = Array("something the peer never reads".utf8)
        try served.fixture.runOneTurn()
        #expect(served.peer.write(Array("why".utf8)))
        // Closing with unread bytes resets the connection; the next write detects that.
        served.peer.close()
        served.engine.output = Array("more".utf8)
        // Without reading first, which a turn would do.
        served.fixture.network.flush(at: served.fixture.loop.now)
        try served.fixture.run { served.engine.hasEnded }
        #expect(served.engine.received == Array("why".utf8))
        #expect(served.engine.endings.count == 1)
        #expect(["ECONNRESET", "EPIPE"].contains(served.engine.failure?.code.rawValue))
    }

    @Test(
        "an engine that wants to disconnect has its output sent, and then its end reported without an error",
        arguments: [false, true])
    func wantsDisconnect(isTalking: Bool) throws {
        let served = try Served()
        let message = [UInt8](repeating: 7, count: 300_000)
        served.engine.output = message
        served.engine.wantsDisconnect = true
        var received: [UInt8] = []
        var failure: SystemError?
        var isOver = false
        served.fixture.onTurn = {
            // Unread bytes at the time of closing would reset the connection and destroy the bytes in flight.
            if isTalking { _ = served.peer.write([UInt8](repeating: 1, count: 1000)) }
            let part = served.peer.read(upTo: 10_000)
            received += part.bytes
            failure = failure ?? part.error
            isOver = isOver || part.isOver
            served.fixture.loop.requestTurn()
        }
        try served.fixture.run { isOver || failure != nil }
        #expect(failure == nil)
        #expect(received == message)
        #expect(served.engine.endings.count == 1)
        #expect(served.engine.failure == nil)
        #expect(served.fixture.network.openConnections == 0)

        // The socket is closed once the peer has closed its end too.
        #expect(served.fixture.network.connectionCount == 1)
        served.fixture.onTurn = nil
        served.peer.close()
        try served.fixture.run(within: .seconds(4)) { served.fixture.network.connectionCount == 0 }
        #expect(served.engine.endings.count == 1)
    }

    @Test("a peer that never reads the last bytes is given up after the close timeout")
    func farewellTimeout() throws {
        let served = try Served(receiveBuffer: 4096)
        served.engine.output = [UInt8](repeating: 7, count: 16 * 1024 * 1024)
        served.engine.wantsDisconnect = true
        try served.fixture.runOneTurn()
        #expect(served.engine.endings.isEmpty)

        var later = served.fixture.loop.now
        later.instant = later.instant + SocketNetwork.closeGracePeriod
        let cause = "it did not accept the last \(served.fixture.network.unsentBytes) bytes within 5.0 seconds"
        served.fixture.network.expire(at: later)
        #expect(served.engine.failure?.code.rawValue == "ETIMEDOUT")
        #expect(served.engine.failure?.message.hasSuffix(cause) == true)
        #expect(served.fixture.network.connectionCount == 0)
    }

    @Test("a peer that got the last bytes and keeps its end open is given up after the close timeout")
    func lingering() throws {
        let served = try Served()
        served.engine.wantsDisconnect = true
        try served.fixture.run { served.engine.hasEnded }
        served.fixture.network.disconnect(served.engine)
        #expect(served.fixture.network.connectionCount == 1, "its owner has finished with it")
        var later = served.fixture.loop.now
        later.instant = later.instant + .seconds(5)
        served.fixture.network.expire(at: later)
        #expect(served.fixture.network.connectionCount == 0)
    }

    @Test("a slow reader gets everything in order, and a bounded part waits in memory")
    func slowReader() throws {
        let served = try Served(receiveBuffer: 8192)
        let pieceSize = 10_000
        let pieces = 1600
        var nextPiece = 0
        served.engine.source = { queue in
            // Adds a little at each drain without limit: only the network holds it back.
            for _ in 0..<4 where nextPiece < pieces {
                queue.append([UInt8](repeating: UInt8(truncatingIfNeeded: nextPiece), count: pieceSize))
                nextPiece += 1
            }
        }
        var received = 0
        var wrongBytes = 0
        var mostUnsent = 0
        served.fixture.onTurn = {
            mostUnsent = max(mostUnsent, served.fixture.network.unsentBytes)
            for byte in served.peer.read(upTo: 20_000).bytes {
                if byte != UInt8(truncatingIfNeeded: received / pieceSize) { wrongBytes += 1 }
                received += 1
            }
            served.fixture.loop.requestTurn()
        }
        try served.fixture.run(within: .seconds(60)) { received == pieces * pieceSize }
        served.fixture.onTurn = nil
        #expect(wrongBytes == 0)
        #expect(mostUnsent > 0, "the reader was slow enough to make the network wait")
        #expect(mostUnsent <= SocketNetwork.unsentLimit + 4 * pieceSize)
    }

    @Test("a held-back engine is drained again at once when its socket has accepted everything")
    func resumesWithoutTraffic() throws {
        let fixture = try LoopFixture()
        let engine = TestEngine()
        engine.announces = true
        var number: Int32 = -1
        let listener = try SocketListener(loop: fixture.loop, address: "127.0.0.1", port: 0) {
            [unowned fixture] socket in
            number = socket.number
            fixture.network.adopt(socket, engine)
        }
        let peer = try RawSocket.connected(to: listener.port)
        try fixture.run { engine.isOpen }

        // A small socket buffer accepts only a part; the rest exceeds the limit.
        try RawSocket.setSendBuffer(of: number, to: 4096)
        engine.output = [UInt8](repeating: 1, count: SocketNetwork.unsentLimit + 64 * 1024)
        for connection in fixture.network.connections { connection.waker.wake() }
        try fixture.runOneTurn()
        #expect(fixture.network.unsentBytes > SocketNetwork.unsentLimit)
        engine.output = [2]

        // A large one accepts the rest in one write, after which only the network itself wakes the loop.
        try RawSocket.setSendBuffer(of: number, to: 8 * 1024 * 1024)
        while !peer.read().bytes.isEmpty {}
        engine.source = { _ in fixture.loop.requestTurn() }
        try fixture.run(within: .seconds(5)) { engine.output.isEmpty }
        engine.source = nil
    }
}
