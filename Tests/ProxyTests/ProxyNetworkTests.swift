import Core
import TestSupport
import Testing

@testable import Proxy

/// Connections through a proxy that is an in-memory engine.
@Suite("A network behind a proxy")
struct ProxyNetworkTests {
    static let proxy = ProxyAddress(endpoint: Endpoint(host: "proxy.example", port: 3128))
    static let target = Endpoint(host: "api.push.apple.com", port: 443)

    /// Records its calls, and sends the given output.
    final class Peer: Engine {
        var openings = 0
        var endings: [TransportError?] = []
        var received: [UInt8] = []
        var output: [UInt8] = []
        var wantsDisconnect = false
        var nextDeadline: Instant?
        var expirations = 0
        var onReceive: (Peer) -> Void = { _ in }

        var text: String { String(decoding: received, as: UTF8.self) }

        func transportOpened(at now: Instant) { openings += 1 }

        func receive(_ bytes: Span<UInt8>, at now: Instant) {
            received.append(bytes)
            onReceive(self)
        }

        func transportClosed(_ failure: TransportError?, at now: Instant) { endings.append(failure) }

        func drain(into output: inout ByteQueue) {
            output.append(self.output)
            self.output = []
        }

        func expire(at now: Instant) {
            expirations += 1
            nextDeadline = nil
        }
    }

    /// A client behind a proxy, connected and waiting for the proxy's response.
    final class Rig {
        let peer = Peer()
        let client = Peer()
        let base: MemoryNetwork
        let network: ProxyNetwork

        init(refuses: Bool = false) {
            let peer = peer
            base = MemoryNetwork { _ in refuses ? nil : peer }
            network = ProxyNetwork(base, through: ProxyNetworkTests.proxy)
            client.output = Array("hello".utf8)
            network.connect(client, to: ProxyNetworkTests.target, timeout: .seconds(10))
            base.settle()
        }

        func response(_ text: String) {
            peer.received = []
            peer.output = Array(text.utf8)
            base.settle()
        }
    }

    @Test("The proxy is connected, and the client gets no events before the tunnel is open")
    func opens() throws {
        let rig = Rig()
        #expect(rig.base.links.map(\.endpoint) == [Self.proxy.endpoint])
        #expect(rig.peer.text.hasPrefix("CONNECT api.push.apple.com:443 HTTP/1.1\r\n"))
        #expect(rig.client.openings == 0)
        rig.response("HTTP/1.1 200 OK\r\n\r\nwelcome")
        #expect(rig.client.openings == 1)
        #expect(rig.client.text == "welcome")
        #expect(rig.peer.text == "hello")
    }

    @Test("Once the tunnel is open, bytes, deadlines and the end are the client's own")
    func passes() {
        let rig = Rig()
        rig.response("HTTP/1.1 200 OK\r\n\r\n")
        rig.response("more")
        #expect(rig.client.text == "more")
        rig.client.nextDeadline = rig.base.now + .seconds(60)
        rig.base.advance(by: .seconds(61))
        #expect(rig.client.expirations == 1)
        #expect(rig.client.endings.isEmpty)
        rig.client.output = Array("bye".utf8)
        rig.client.wantsDisconnect = true
        rig.base.settle()
        #expect(rig.peer.text == "bye")
        #expect(rig.peer.endings.count == 1 && rig.client.endings.count == 1)
        #expect(rig.client.endings.first?.map(\.message) == .some(nil))
    }

    @Test("A refusal ends the connection once, and the proxy's as well")
    func refused() {
        let rig = Rig()
        rig.response("HTTP/1.1 403 Forbidden\r\n\r\n")
        #expect(rig.client.openings == 0)
        #expect(rig.client.endings.map(\.?.code.rawValue) == ["HTTP 403"])
        #expect(rig.peer.endings.count == 1)
        #expect(rig.base.links.isEmpty)
    }

    @Test("A proxy that closes early, or is unreachable, is reported as such")
    func ends() {
        let rig = Rig()
        rig.peer.wantsDisconnect = true
        rig.base.settle()
        #expect(
            rig.client.endings.map(\.?.message) == [
                "the proxy proxy.example:3128 closed the connection before the tunnel to api.push.apple.com:443 "
                    + "was open"
            ])
        let alone = Rig(refuses: true)
        #expect(alone.client.endings.map(\.?.code.rawValue) == ["ECONNREFUSED"])
        #expect(alone.client.endings.map(\.?.message) == ["the proxy: proxy.example:3128 refused"])
    }

    @Test("A silent proxy is given up at its deadline, and not before")
    func silent() {
        let rig = Rig()
        rig.base.advance(by: .milliseconds(9_999))
        #expect(rig.client.endings.isEmpty)
        rig.base.advance(by: .milliseconds(1))
        #expect(rig.client.endings.map(\.?.code.rawValue) == ["ETIMEDOUT"])
        #expect(rig.base.links.isEmpty)
    }

    @Test("A disconnected client gets no more events, whatever the proxy sends", arguments: [false, true])
    func disconnects(isOpen: Bool) {
        let rig = Rig()
        if isOpen { rig.response("HTTP/1.1 200 OK\r\n\r\n") }
        rig.network.disconnect(rig.client)
        rig.response("HTTP/1.1 200 OK\r\n\r\nlate")
        #expect(rig.client.endings.isEmpty && rig.client.received.isEmpty)
        #expect(rig.peer.endings.count == 1)
        rig.network.disconnect(rig.client)
    }
}
