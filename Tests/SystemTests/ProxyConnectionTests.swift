import Core
import Testing

@testable import System

/// Connections through a proxy, on sockets of the loopback address.
@Suite("A connection through a proxy")
struct ProxyConnectionTests {
    static let target = Endpoint(host: "api.push.apple.com", port: 443)

    /// A client behind a proxy, which has received the request for a tunnel.
    final class Rig {
        let fixture: LoopFixture
        let listener: SocketListener
        let peer = TestEngine()
        let client = TestEngine()

        init(timeout: Duration = .seconds(10)) throws {
            fixture = try LoopFixture()
            let peer = peer
            listener = try fixture.listen { peer }
            client.output = Array("hello".utf8)
            fixture.network.connect(client, to: target, through: Self.proxy(listener.port), timeout: timeout)
            try fixture.run { [peer] in peer.text.hasSuffix("\r\n\r\n") }
        }

        static func proxy(_ port: UInt16) -> ProxyAddress {
            ProxyAddress(endpoint: Endpoint(host: "127.0.0.1", port: port))
        }

        func response(_ text: String, until condition: @escaping () -> Bool) throws {
            peer.output = Array(text.utf8)
            try fixture.run(until: condition)
        }

        func open() throws {
            try response("HTTP/1.1 200 OK\r\n\r\n") { [client, peer] in
                client.openings == 1 && peer.text.hasSuffix("hello")
            }
        }
    }

    @Test("The proxy is connected, and the client gets no events before the tunnel is open")
    func opens() throws {
        let rig = try Rig()
        #expect(rig.peer.text.hasPrefix("CONNECT api.push.apple.com:443 HTTP/1.1\r\n"))
        #expect(rig.client.openings == 0 && rig.client.drains == 0)
        try rig.response("HTTP/1.1 200 OK\r\n\r\nwelcome") { [client = rig.client, peer = rig.peer] in
            client.text == "welcome" && peer.text.hasSuffix("\r\n\r\nhello")
        }
        #expect(rig.client.openings == 1)
    }

    @Test("Once the tunnel is open, bytes, deadlines and the end are the client's own")
    func passes() throws {
        let rig = try Rig()
        let (client, peer) = (rig.client, rig.peer)
        try rig.open()
        try rig.response("more") { client.text == "more" }
        client.nextDeadline = SystemClock.instant() + .milliseconds(20)
        try rig.fixture.run { client.expirations.count == 1 }
        #expect(client.endings.isEmpty)
        client.output = Array("bye".utf8)
        client.wantsDisconnect = true
        try rig.fixture.run { client.hasEnded && peer.hasEnded }
        #expect(peer.text.hasSuffix("bye"))
        #expect(peer.endings.count == 1 && client.endings.count == 1)
        #expect(client.failure == nil)
    }

    @Test("A refusal ends the connection once, and the proxy's as well")
    func refused() throws {
        let rig = try Rig()
        let (client, peer, network) = (rig.client, rig.peer, rig.fixture.network)
        try rig.response("HTTP/1.1 403 Forbidden\r\n\r\n") {
            client.hasEnded && peer.hasEnded && network.connectionCount == 0
        }
        #expect(client.openings == 0)
        #expect(!rig.fixture.isLast(rig.listener.port))
        #expect(client.endings.map(\.?.code.rawValue) == ["HTTP 403"])
        #expect(peer.endings.count == 1)
    }

    @Test("A proxy that closes early, or is unreachable, is reported as such")
    func ends() throws {
        let rig = try Rig()
        let client = rig.client
        rig.peer.wantsDisconnect = true
        try rig.fixture.run { client.hasEnded }
        #expect(rig.fixture.isLast(rig.listener.port))
        #expect(
            client.endings.map(\.?.message) == [
                "the proxy 127.0.0.1:\(rig.listener.port) closed the connection before the tunnel to "
                    + "api.push.apple.com:443 was open"
            ])
        let port = try RawSocket.unusedPort()
        let alone = TestEngine()
        rig.fixture.network.connect(alone, to: Self.target, through: Rig.proxy(port), timeout: .seconds(10))
        try rig.fixture.run { alone.hasEnded }
        #expect(alone.endings.map(\.?.code.rawValue) == ["ECONNREFUSED"])
        #expect(
            alone.endings.map(\.?.message) == ["the proxy: cannot connect to 127.0.0.1:\(port): Connection refused"])
    }

    @Test("A silent proxy is given up at its deadline, and not before")
    func silent() throws {
        let begun = SystemClock.instant()
        let rig = try Rig(timeout: .milliseconds(300))
        let (client, network) = (rig.client, rig.fixture.network)
        try rig.fixture.run { client.hasEnded }
        #expect(SystemClock.instant() - begun >= .milliseconds(300))
        #expect(client.endings.map(\.?.code.rawValue) == ["ETIMEDOUT"])
        #expect(rig.fixture.isLast(rig.listener.port))
        #expect(
            client.failure?.message
                == "the proxy 127.0.0.1:\(rig.listener.port) did not open a tunnel to api.push.apple.com:443 within "
                + "0.3 seconds")
        try rig.fixture.run { network.connectionCount == 0 }
    }

    @Test("A disconnected client gets no more events, whatever the proxy sends", arguments: [false, true])
    func disconnects(isOpen: Bool) throws {
        let rig = try Rig()
        let (client, peer) = (rig.client, rig.peer)
        if isOpen { try rig.open() }
        rig.fixture.network.disconnect(client)
        try rig.response("HTTP/1.1 200 OK\r\n\r\nlate") { peer.hasEnded }
        #expect(client.endings.isEmpty && client.received.isEmpty)
        #expect(peer.endings.count == 1)
        rig.fixture.network.disconnect(client)
    }

    @Test("The address of a proxy stays usable when the target hangs up before it has spoken")
    func hangUp() throws {
        let rig = try Rig()
        let client = rig.client
        client.awaitsGreeting = true
        try rig.open()
        rig.peer.wantsDisconnect = true
        try rig.fixture.run { client.hasEnded }
        #expect(!rig.fixture.isLast(rig.listener.port))
    }
}

extension TestEngine {
    fileprivate var text: String { String(decoding: received, as: UTF8.self) }
}
