import Core
import Glibc
import Testing

@testable import System

@Suite("A listener")
struct SocketListenerTests {
    @Test("accepts more connections than one turn takes")
    func manyConnections() throws {
        let (fixture, listener) = try LoopFixture.echoing()
        let count = 3 * SocketListener.acceptsPerTurn
        let clients = (0..<count).map { number in
            let client = fixture.connect(port: listener.port)
            client.output = [UInt8(truncatingIfNeeded: number)]
            return client
        }
        try fixture.run { clients.allSatisfy { !$0.received.isEmpty } }
        for (number, client) in clients.enumerated() {
            #expect(client.received == [UInt8(truncatingIfNeeded: number)])
        }
        #expect(fixture.network.openConnections == 2 * count)
    }

    @Test("reports the address in use")
    func addressInUse() throws {
        let (fixture, first) = try LoopFixture.echoing()
        let error = #expect(throws: EventLoopError.self) { try fixture.listen(port: first.port) { .echo() } }
        #expect(error?.code.rawValue == "EADDRINUSE")
        #expect(error?.message == "cannot listen at 127.0.0.1:\(first.port): Address already in use")
    }

    @Test("accepts only numeric addresses")
    func notAnAddress() throws {
        let fixture = try LoopFixture()
        let error = #expect(throws: EventLoopError.self) { try fixture.listen(address: "localhost") { .echo() } }
        #expect(error?.code.rawValue == "EINVAL")
    }

    @Test("closes connections that the owner does not take")
    func refusedConnection() throws {
        let fixture = try LoopFixture()
        let listener = try SocketListener(loop: fixture.loop, address: "127.0.0.1", port: 0) { _ in }
        let client = fixture.connect(port: listener.port)
        try fixture.run { client.hasEnded }
        #expect(client.openings == 1 && client.failure == nil)
    }

    @Test("frees its port when it is closed, and keeps the accepted connections")
    func close() throws {
        let (fixture, listener) = try LoopFixture.echoing()
        let client = fixture.connect(port: listener.port)
        try fixture.run { client.isOpen && fixture.network.openConnections == 2 }
        listener.close()
        listener.close()
        let second = try fixture.listen(port: listener.port) { .echo() }
        client.output = [1]
        try fixture.run { client.received == [1] }
        second.close()
    }

    @Test("a loop closes all its sockets when it ends")
    func endOfLoop() throws {
        var fixture: LoopFixture? = try LoopFixture()
        let port = try fixture!.listen { .echo() }.port
        let client = fixture!.connect(port: port)
        try fixture!.run { client.isOpen && fixture!.network.openConnections == 2 }
        #expect(Self.descriptors(ofPort: port) == 3)
        fixture = nil
        #expect(Self.descriptors(ofPort: port) == 0)
        #expect(client.endings.isEmpty)
    }

    @Test("no descriptor is left over after many connections, however they ended")
    func noLeak() throws {
        let fixture = try LoopFixture()
        var servers: [TestEngine] = []
        let listener = try fixture.listen {
            servers.append(.echo())
            return servers.last!
        }
        let port = listener.port
        for round in 0..<100 {
            let clients = (0..<4).map { _ in
                let client = fixture.connect(port: port)
                client.output = [1]
                return client
            }
            // The fourth is given up before it is open.
            fixture.network.flush(at: fixture.loop.now)
            fixture.network.disconnect(clients[3])
            try fixture.run { clients[0..<3].allSatisfy { $0.received == [1] } }
            #expect(fixture.network.connections.allSatisfy { $0.number < 16 }, "numbers are used again")
            switch round % 3 {
            case 0: clients[0].wantsDisconnect = true
            case 1: fixture.network.disconnect(clients[0])
            default: servers.first { $0.isOpen }?.wantsDisconnect = true
            }
            for client in clients[1..<3] { client.wantsDisconnect = true }
            for server in servers { server.wantsDisconnect = true }
            try fixture.run { fixture.network.connectionCount == 0 }
        }
        #expect(servers.count >= 300)
        #expect(Self.descriptors(ofPort: port) == 1, "only the listener is left")
        for server in servers { #expect(server.endings.count == 1) }
    }

    /// The open descriptors of this process with `port` as their own or their peer's port.
    static func descriptors(ofPort port: UInt16) -> Int {
        (0..<Int32(4096)).count { number in
            guard fcntl(number, F_GETFD) >= 0 else { return false }
            let descriptor = Descriptor(adopting: number)
            let ports = [SocketAddress(ofSocket: descriptor), SocketAddress(ofPeer: descriptor)].map(\.?.endpoint.port)
            descriptor.release()
            return ports.contains(port)
        }
    }

    @Test("out of descriptors it pauses without spinning, and accepts again once some are free")
    func outOfDescriptors() throws {
        // A thread with a separate descriptor table, so that exhausting it affects no other test.
        let (pauses, turns, accepted, deadline) = try Thread.run("out of files") {
            try DescriptorTable.becomePrivate()
            Glibc.close(0)  // A file, and then the loop, get the number of the standard input.
            _ = try WholeFile.read("/proc/self/comm", upTo: 64)
            let fixture = try LoopFixture()
            let server = TestEngine()
            let listener = try fixture.listen { server }
            let peer = try RawSocket.connected(to: listener.port)
            var extra: [Int32] = []
            while case let number = dup(0), number >= 0 { extra.append(number) }
            guard errno == EMFILE, AddressLookup.shortage(0)?.number == EMFILE else { throw SystemError.last }
            let before = fixture.loop.turns
            try fixture.run { listener.pauses == 3 }
            let (pauses, turns) = (listener.pauses, fixture.loop.turns - before)
            for number in extra { Glibc.close(number) }
            try fixture.run { server.isOpen }
            let second = try RawSocket.connected(to: listener.port)
            while dup(0) >= 0 {}
            try fixture.run { listener.pauses > pauses }
            listener.close()
            withExtendedLifetime((peer, second)) {}
            return (pauses, turns, server.openings, listener.nextDeadline)
        }
        #expect(pauses == 3)
        #expect(turns < 20)
        #expect(accepted == 1)
        #expect(deadline == nil, "a closed listener has no deadline")
    }
}

/// The descriptor table of one thread.
enum DescriptorTable {
    /// Gives the calling thread a separate table that holds only the standard descriptors.
    ///
    /// It has no copies of other threads' descriptors: a copy would keep their connections open after they closed them.
    static func becomePrivate() throws(SystemError) {
        typealias Unshare = @convention(c) (Int32) -> Int32
        typealias CloseRange = @convention(c) (UInt32, UInt32, Int32) -> Int32
        let filesOfItsOwn: Int32 = 0x400
        guard let unshare = unsafe dlsym(nil, "unshare"), let closeRange = unsafe dlsym(nil, "close_range") else {
            throw SystemError(number: ENOSYS)
        }
        guard unsafe unsafeBitCast(unshare, to: Unshare.self)(filesOfItsOwn) == 0,
            unsafe unsafeBitCast(closeRange, to: CloseRange.self)(3, .max, 0) == 0
        else { throw .last }
    }
}
