import Core
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import System

@Suite("Connecting")
struct ConnectTests {
    static func address(_ host: String, _ port: UInt16) -> SocketAddress {
        AddressLookup.numeric(Endpoint(host: host, port: port))!
    }

    @Test("an address that the system refuses at once is reported like any other failure")
    func refusedAtOnce() throws {
        let fixture = try LoopFixture()
        // A TCP connection to a broadcast address fails inside connect(2).
        let client = fixture.connect(to: Endpoint(host: "255.255.255.255", port: 9))
        #expect(client.endings.isEmpty)
        try fixture.run { client.hasEnded }
        #expect(client.openings == 0 && client.failure?.message.contains("resolving") == false)
        #expect(fixture.isLast(9, of: "255.255.255.255"))
    }

    @Test("when every address fails, the last failure is reported, with the name and the address")
    func everyAddressFails() throws {
        let port = try RawSocket.unusedPort()
        let fixture = try LoopFixture { _ in
            .success([Self.address("127.0.0.1", port), Self.address("127.0.0.1", port)])
        }
        let client = fixture.connect(to: Endpoint(host: "twins.example", port: port))
        try fixture.run { client.hasEnded }
        #expect(client.failure?.code.rawValue == "ECONNREFUSED")
        #expect(client.failure?.message == "cannot connect to twins.example:\(port) at 127.0.0.1: Connection refused")
    }

    @Test("a socket that TCP connected to itself counts as refused")
    func connectedToItself() throws {
        let address = Self.address("127.0.0.1", try RawSocket.unusedPort())
        let descriptor = try Descriptor.socket(family: address.family)
        try descriptor.bind(to: address)
        try descriptor.connect(to: address)
        let error = descriptor.connectError()
        #expect(error?.name == "ECONNREFUSED")
    }

    /// A socket with a full backlog: Linux silently drops further attempts.
    static func silentPeer() throws -> (listener: RawSocket, fillers: [RawSocket], port: UInt16) {
        let listener = try RawSocket.listening(backlog: 0)
        let port = listener.port
        let fillers = try (0..<4).map { _ in try RawSocket.connected(to: port) }
        return (listener, fillers, port)
    }

    @Test("a silent peer ends the connect with ETIMEDOUT at its timeout")
    func timeout() throws {
        let silent = try Self.silentPeer()
        let fixture = try LoopFixture()
        let begun = SystemClock.instant()
        let client = fixture.connect(port: silent.port, timeout: .milliseconds(300))
        try fixture.run { client.hasEnded }
        #expect(SystemClock.instant() - begun >= .milliseconds(300))
        #expect(client.failure?.code.rawValue == "ETIMEDOUT")
        #expect(client.failure?.message == "cannot connect to 127.0.0.1:\(silent.port): no answer within 0.3 seconds")
        #expect(fixture.network.connectionCount == 0 && fixture.isLast(silent.port))
        withExtendedLifetime(silent) {}
    }

    @Test("a silent address leaves time for the next one", arguments: 0..<4 as Range<UInt64>)
    func silentAddress(seed: UInt64) throws {
        let silent = try Self.silentPeer()
        let (fixture, listener) = try LoopFixture.echoing(seed: seed, after: [silent.port])
        let client = TestEngine()
        client.announces = true
        client.output = [1]
        fixture.network.connect(client, to: Endpoint(host: "twins.example", port: 1), timeout: .milliseconds(800))
        try fixture.run { client.received == [1] }
        #expect(client.openings == 1)
        withExtendedLifetime((silent, listener)) {}
    }

    @Test("a name without an address ends the connect with the resolver's error")
    func nameNotFound() throws {
        let fixture = try LoopFixture { endpoint in .failure(.notResolved(endpoint, -2)) }
        let client = fixture.connect(to: Endpoint(host: "nowhere.invalid", port: 5672))
        #expect(client.endings.isEmpty)
        try fixture.run { client.hasEnded }
        #expect(client.failure?.code.rawValue == "EAI_NONAME")
        #expect(client.failure?.message == "cannot resolve nowhere.invalid: Name or service not known")
    }

    @Test("names with endless look-ups do not delay others, up to three; a late answer is dropped")
    func hangingNames() throws {
        let gate = DispatchSemaphore(value: 0)
        let fixture = try LoopFixture { endpoint in
            if endpoint.host == "slow.example" {
                gate.wait()
                // Each look-up that passes lets the next one pass.
                gate.signal()
            }
            return .success([Self.address("127.0.0.1", endpoint.port)])
        }
        let listener = try fixture.listen { .echo() }
        let slow = (0..<3).map { _ in fixture.connect(to: Endpoint(host: "slow.example", port: listener.port)) }
        let others = (0..<3).map { _ in fixture.connect(to: Endpoint(host: "fast.example", port: listener.port)) }
        try fixture.run { others.allSatisfy(\.isOpen) }
        #expect(slow.allSatisfy { !$0.isOpen })
        let late = ["slow.example", "fast.example"].map { name in
            fixture.connect(to: Endpoint(host: name, port: listener.port), timeout: .milliseconds(100))
        }
        try fixture.run { late.allSatisfy { $0.isOpen || $0.hasEnded } }
        #expect(late.allSatisfy { $0.failure?.code.rawValue == "EAI_AGAIN" }, "four look-ups at most")
        gate.signal()
        let next = fixture.connect(to: Endpoint(host: "slow.example", port: listener.port))
        try fixture.run { next.isOpen && slow.allSatisfy(\.isOpen) }
        #expect(late.allSatisfy { $0.endings.count == 1 && $0.openings == 0 })
    }
}

@Suite("The resolver")
struct ResolverTests {
    @Test("finds localhost, and resolves numeric addresses without a query")
    func localhost() throws {
        let addresses = try AddressLookup.system(Endpoint(host: "localhost", port: 80)).get()
        #expect(addresses.allSatisfy { ["127.0.0.1", "::1"].contains($0.endpoint.host) && $0.endpoint.port == 80 })
        #expect(AddressLookup.numeric(Endpoint(host: "localhost", port: 80)) == nil)
        #expect(AddressLookup.numeric(Endpoint(host: "10.1.2.3", port: 80))?.description == "10.1.2.3:80")
        #expect(AddressLookup.numeric(Endpoint(host: "2001:db8::1", port: 443))?.description == "[2001:db8::1]:443")
    }

    @Test("names a lack of descriptors, even if some are free again, and one of memory if there is no number")
    func pastShortage() {
        #expect([EMFILE, ENFILE, ENOENT].map { AddressLookup.shortage($0)?.name } == ["EMFILE", "ENFILE", nil])
        #expect([EMFILE, 0].map { EventLoopError("", errno: $0).code.rawValue } == ["EMFILE", "ENOMEM"])
    }

    @Test("names the failure of a name that cannot exist")
    func impossibleName() throws {
        let lookUp = AddressLookup.system(Endpoint(host: "two..dots", port: 1))
        let failure = try #require(throws: TransportError.self) { try lookUp.get() }
        #expect(failure.code.rawValue.hasPrefix("EAI_"))
        #expect(failure.message.contains("two..dots"))
    }

    @Test("answers queries of several loops at once")
    func severalLoops() throws {
        final class Count: Sendable {
            let connected = Atomic(0)
            let failures = Mutex<[String]>([])
        }
        let count = Count()
        let resolver = Resolver { endpoint in .success([ConnectTests.address("127.0.0.1", endpoint.port)]) }
        let (fixture, listener) = try LoopFixture.echoing()
        let port = listener.port
        let threads = try (0..<3).map { number in
            try Thread.start(name: "loop \(number)") {
                do {
                    let own = try LoopFixture()
                    let network = try SocketNetwork(loop: own.loop, resolver: resolver)
                    let engines = (0..<20).map { _ in TestEngine() }
                    for engine in engines {
                        engine.output = [1]
                        network.connect(engine, to: Endpoint(host: "name", port: port), timeout: .seconds(10))
                    }
                    try own.run { engines.allSatisfy { $0.received == [1] } }
                    count.connected.add(engines.count { $0.isOpen }, ordering: .relaxed)
                } catch {
                    let text = "\(error)"
                    count.failures.withLock { $0.append(text) }
                }
            }
        }
        try fixture.run { count.connected.load(ordering: .relaxed) == 60 }
        for thread in threads { _ = thread.join(until: .distantFuture) }
        #expect(count.failures.withLock { $0 } == [])
    }
}
