import Core
import Glibc
import Synchronization
import Testing

@testable import System

@Suite("Addresses")
struct AddressTests {
    private static let four = (1...9).map { ConnectTests.address("192.0.2.\($0)", 443) }
    private static let six = (1...5).map { ConnectTests.address("2001:db8::\($0)", 443) }

    private func text(_ addresses: [SocketAddress]) -> [String] {
        addresses.map { $0.endpoint.host }
    }

    @Test("Families alternate, starting with the first address's, and the rest of the longer one follows")
    func alternating() {
        func order(_ addresses: [SocketAddress]) -> [String] {
            text(ConnectAttempts.alternatingFamilies(addresses))
        }
        #expect(order([]) == [])
        #expect(order(Array(Self.four[0...1])) == ["192.0.2.1", "192.0.2.2"])
        #expect(
            order(Array(Self.six[0...2]) + Array(Self.four[0...1]))
                == ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"])
        #expect(
            order([Self.four[0], Self.six[0], Self.four[1], Self.four[2]])
                == ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"])
    }

    @Test("Each address is first about equally often, and none is lost")
    func random() throws {
        let fixture = try LoopFixture(seed: 7)
        let addresses = Array(Self.four[0..<3]) + Array(Self.six[0..<3])
        var first: [String: Int] = [:]
        for _ in 0..<6_000 {
            let order = text(fixture.network.ordered(addresses, at: Instant(nanoseconds: 0)))
            #expect(Set(order).count == 6)
            first[order[0], default: 0] += 1
        }
        #expect(first.count == 6)
        #expect(first.values.allSatisfy { 850...1_150 ~= $0 }, "\(first)")
    }

    @Test("A failed address is last until its time is over or it succeeds, and does not evict others")
    func failed() {
        let failures = FailedAddresses()
        let start = Instant(nanoseconds: 0)
        let all = Array(Self.four[0..<3])
        failures.failed(Self.four[0], at: start)
        #expect(text(failures.last(all, at: start + .milliseconds(59_999))) == ["192.0.2.2", "192.0.2.3", "192.0.2.1"])
        #expect(text(failures.last(all, at: start + .seconds(60))) == text(all))
        failures.failed(Self.four[1], at: start)
        failures.succeeded(Self.four[0])
        for number in 0..<256 {
            #expect(text(failures.last(all, at: start)) == ["192.0.2.1", "192.0.2.3", "192.0.2.2"])
            failures.failed(ConnectTests.address("10.0.0.1", UInt16(number + 1)), at: start + .seconds(1))
        }
        #expect(text(failures.last(all, at: start)) == text(all), "the oldest one has made room")
    }

    @Test("A dead address is skipped by the process's next connection, on any loop")
    func remembered() throws {
        let silent = try ConnectTests.silentPeer()
        let (fixture, listener) = try LoopFixture.echoing(after: [silent.port])
        let dead = ConnectTests.address("127.0.0.1", silent.port)
        fixture.resolver.failedAddresses.failed(dead, at: SystemClock.instant())
        for _ in 0..<8 {
            let begun = SystemClock.instant()
            let client = fixture.connect(to: Endpoint(host: "twins.example", port: 1))
            try fixture.run { client.isOpen }
            #expect(SystemClock.instant() - begun < .seconds(2), "the silent address was not waited for")
        }
        withExtendedLifetime((silent, listener)) {}
    }

    @Test("A connection to an address that failed restores its place")
    func restored() throws {
        let (fixture, listener) = try LoopFixture.echoing()
        let address = ConnectTests.address("127.0.0.1", listener.port)
        for _ in 0..<2 {
            fixture.resolver.failedAddresses.failed(address, at: SystemClock.instant())
            #expect(fixture.isLast(listener.port))
            let client = fixture.connect(to: Endpoint(host: "name.example", port: 1))
            try fixture.run { client.isOpen }
            #expect(!fixture.isLast(listener.port))
        }
    }

    @Test(
        "Each of 8 addresses gets its share of the time, at most 3 seconds if others follow, at least 250 ms",
        arguments: [
            (1, 10_000, [10_000]), (2, 10_000, [3_000, 10_000]), (3, 6_000, [2_000, 4_000, 6_000]),
            (5, 800, [250, 500, 750, 800]), (9, 4_000, [500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000]),
        ])
    func shares(count: Int, limit: Int64, deadlines: [Int64]) {
        let start = Instant(nanoseconds: 0)
        var attempts = ConnectAttempts(Array(Self.four.prefix(count)), deadline: start + .milliseconds(limit))
        var now = start
        var found: [Int64] = []
        while let attempt = attempts.next(at: now) {
            found.append((attempt.deadline - start).nanoseconds / 1_000_000)
            now = attempt.deadline
        }
        #expect(found == deadlines)
    }

    @Test("A connection over another address shows which one is dead", arguments: [0, 1] as [UInt64])
    func learnt(seed: UInt64) throws {
        let refusing = try RawSocket.unusedPort()
        let (fixture, listener) = try LoopFixture.echoing(seed: seed, after: [refusing])
        // The live one is first by chance; eventually the other one is.
        for _ in 0..<20 {
            let client = fixture.connect(to: Endpoint(host: "twins.example", port: 1))
            try fixture.run { client.isOpen }
        }
        #expect(fixture.isLast(refusing) && !fixture.isLast(listener.port))
    }

    @Test(
        "An address whose peer hangs up, or is given up, before it has spoken is tried last; another is not",
        arguments: [(speaks: false, givesUp: false), (false, true), (true, false), (true, true)])
    func mute(speaks: Bool, givesUp: Bool) throws {
        let ports = Mutex<[UInt16]>([])
        let fixture = try LoopFixture { _ in
            .success(ports.withLock { $0 }.map { ConnectTests.address("127.0.0.1", $0) })
        }
        let first = try fixture.listen {
            let peer = TestEngine()
            if speaks { peer.output = [1] }
            peer.wantsDisconnect = !givesUp
            return peer
        }
        let second = try fixture.listen { .echo() }
        ports.withLock { $0 = [first.port] }
        let client = fixture.connect(to: Endpoint(host: "name.example", port: 1))
        client.awaitsGreeting = true
        try fixture.run { givesUp ? client.isOpen && (!speaks || !client.received.isEmpty) : client.hasEnded }
        if givesUp { fixture.network.disconnect(client) }
        #expect(fixture.isLast(first.port) == !speaks && !fixture.isLast(second.port))
    }

    @Test("Each connection queries the resolver again")
    func uncached() throws {
        let queries = Mutex(0)
        let live = Mutex<UInt16>(0)
        let fixture = try LoopFixture { _ in
            queries.withLock { $0 += 1 }
            return .success([ConnectTests.address("127.0.0.1", live.withLock { $0 })])
        }
        let listener = try fixture.listen { .echo() }
        live.withLock { $0 = listener.port }
        for _ in 0..<3 {
            let client = fixture.connect(to: Endpoint(host: "name.example", port: 1))
            try fixture.run { client.isOpen }
        }
        #expect(queries.withLock { $0 } == 3)
    }

    /// Whether this host has IPv6 at all.
    static var hasIPv6: Bool {
        guard let socket = try? Descriptor.socket(family: AF_INET6) else { return false }
        return (try? socket.bind(to: ConnectTests.address("::1", 0))) != nil
    }

    @Test("A name with only IPv6 addresses is reached", .enabled(if: hasIPv6, "this host has no IPv6"))
    func sixOnly() throws {
        let (fixture, listener) = try LoopFixture.echoing(host: "::1")
        let client = fixture.connect(to: Endpoint(host: "six.example", port: 1))
        client.output = [1]
        try fixture.run { client.received == [1] }
        withExtendedLifetime(listener) {}
    }
}

@Suite("Silent peers")
struct SilentPeerTests {
    @Test("Every socket has keepalive, and a limit for unacknowledged bytes if one is set")
    func options() throws {
        let socket = try Descriptor.socket(family: AF_INET)
        try SocketOptions(unacknowledgedTime: .milliseconds(1_500)).apply(to: socket)
        func value(_ option: Int32, _ level: Int32 = Int32(IPPROTO_TCP)) -> Int32 {
            var value: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            _ = unsafe getsockopt(socket.number, level, option, &value, &size)
            return value
        }
        #expect(value(TCP_NODELAY) == 1)
        #expect(value(SO_KEEPALIVE, SOL_SOCKET) == 1 && value(TCP_KEEPIDLE) == 60)
        #expect(value(TCP_KEEPINTVL) == 15 && value(TCP_KEEPCNT) == 4)
        #expect(value(TCP_USER_TIMEOUT) == 1_500)
    }

    @Test("A peer that accepts no more bytes is given up when the acknowledgement timeout is over")
    func unacknowledged() throws {
        let fixture = try LoopFixture()
        let network = try SocketNetwork(
            loop: fixture.loop, resolver: fixture.resolver,
            options: SocketOptions(unacknowledgedTime: .milliseconds(300)))
        let listener = try RawSocket.listening(backlog: 1)
        let client = TestEngine()
        // More than both kernel buffers hold: the rest is never acknowledged.
        client.source = { $0.append([UInt8](repeating: 0, count: 100_000)) }
        network.connect(client, to: Endpoint(host: "127.0.0.1", port: listener.port), timeout: .seconds(10))
        try fixture.run { client.hasEnded }
        #expect(client.openings == 1)
        #expect(client.failure?.code.rawValue == "ETIMEDOUT")
        withExtendedLifetime(listener) {}
    }
}
