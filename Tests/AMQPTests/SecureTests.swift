import AMQP
import Core
import TLS
import TestSupport
import Testing

@Suite("Secure connections")
struct SecureTests {
    private static let wallTime = WallTime(milliseconds: 1_795_014_400_000)
    private static let endpoint = Endpoint(host: "broker", port: 5671)
    private let authority: CertificateAuthority
    private let server: TLSContext

    init() throws {
        authority = CertificateAuthority(commonName: "Test", now: Self.wallTime)
        let certificate = authority.issue(names: ["broker"], usage: .server)
        server = try TLSContext(
            role: .server, trust: .none,
            identity: .pemText(certificates: certificate.certificatePEM, privateKey: certificate.privateKeyPEM))
    }

    private func link(_ role: AMQPRole = .publisher, trust: TLSContext.Trust? = nil) throws -> AMQPLink {
        var address = BrokerAddress(endpoint: Self.endpoint)
        address.usesTLS = true
        var configuration = AMQPConfiguration(address: address, role: role)
        configuration.tls = try TLSContext(
            role: .client, trust: trust ?? .pem(authority.certificatePEM), checkedAt: Self.wallTime)
        return AMQPLink(AMQPEngine(configuration: configuration, epoch: 1))
    }

    /// Connects an engine to a peer, until nothing moves.
    private func connect(_ link: AMQPLink, to peer: any Engine) -> MemoryNetwork {
        let network = MemoryNetwork { _ in peer }
        network.connect(link, to: Self.endpoint, timeout: .seconds(1))
        network.settle()
        return network
    }

    /// The error of the last event.
    private func failure(of link: AMQPLink) -> AMQPError? {
        var failure: AMQPError?
        while let event = link.engine.nextEvent() { if case .closed(let error) = event { failure = error } }
        return failure
    }

    @Test("A connection that ends during the TLS handshake has another error than one that never opened")
    func endedEarly() throws {
        let link = try link()
        let network = MemoryNetwork { _ in BrokerEngine(broker: Broker()) }
        network.latency = .seconds(1)
        network.connect(link, to: Self.endpoint, timeout: .seconds(1))
        network.settle()
        network.cut(try #require(network.links.first))
        #expect(try #require(failure(of: link)).code == .tls)
    }

    @Test("Messages pass both ways under TLS, however the bytes are split", arguments: [1, 100, 5000, Int.max])
    func secure(chunk: Int) throws {
        let broker = Broker()
        broker.declare("q")
        let publisher = try link()
        let consumer = try link(.consumer([ConsumerQueue(name: "q", prefetch: 1)]))
        let network = MemoryNetwork { _ in SecureServer(BrokerEngine(broker: broker), server) }
        network.largestPiece = chunk
        for link in [publisher, consumer] { network.connect(link, to: Self.endpoint, timeout: .seconds(1)) }
        network.settle()
        #expect(publisher.engine.canPublish == true)
        _ = try publisher.engine.publish(Publication(routingKey: bytes("q")[...], body: pattern(40_000)[...]))
        network.settle()
        var body: [UInt8] = []
        while let event = consumer.engine.nextEvent() {
            if case .delivery(let delivery) = event { body += delivery.body }
        }
        #expect(body == pattern(40_000))
        publisher.engine.close(at: network.now)
        consumer.engine.close(at: network.now)
        network.settle()
        #expect(broker.engines.isEmpty && network.links.isEmpty)
    }

    @Test("A broker that ends or breaks TLS alone has ended the connection", arguments: [false, true])
    func closeNotify(isBroken: Bool) throws {
        let link = try link()
        let peer = SecureServer(BrokerEngine(broker: Broker()), server)
        let network = connect(link, to: peer)
        #expect(link.engine.isOpen == true)
        let record: [UInt8] = [23, 3, 3, 0, 20] + Array(repeating: 0, count: 20)
        if isBroken { link.receive(record.span, at: network.now) } else { peer.endTLS() }
        network.settle()
        let error = try #require(failure(of: link))
        #expect(error.code == (isBroken ? .tls : .transport) && error.isTransient)
        #expect(error.message.hasSuffix(isBroken ? "5671 failed" : "closed the connection"), "\(error)")
        #expect(link.engine.wantsDisconnect == true)
    }

    @Test("A certificate of an unknown authority ends the connection with a clear reason")
    func untrusted() throws {
        let other = CertificateAuthority(commonName: "Other", now: Self.wallTime)
        let link = try link(trust: .pem(other.certificatePEM))
        _ = connect(link, to: SecureServer(BrokerEngine(broker: Broker()), server))
        let error = try #require(failure(of: link))
        #expect(error.code == .tls && !error.isTransient)
        #expect((error.underlying as? TLSError)?.code == .unknownAuthority)
    }

    @Test("A broker without TLS on that port is recognised")
    func plainBroker() throws {
        let link = try link(trust: TLSContext.Trust.none)
        _ = connect(link, to: BrokerEngine(broker: Broker()))
        let error = try #require(failure(of: link))
        #expect(error.code == .tls && (error.underlying as? TLSError)?.code == .notTLS)
    }
}

/// A broker engine behind TLS.
private final class SecureServer: Engine {
    private let inner: BrokerEngine
    private var session: TLSSession
    private var failed = false

    init(_ inner: BrokerEngine, _ context: TLSContext) {
        self.inner = inner
        session = TLSSession(context: context, serverName: nil)
    }

    func transportOpened(at now: Instant) { inner.transportOpened(at: now) }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        session.receive(bytes)
        do throws(TLSError) {
            guard try session.handshake() else { return }
            var plaintext = ByteQueue()
            while case .bytes = try session.read(into: &plaintext) {
                plaintext.withBytes { inner.receive($0, at: now) }
                plaintext.removeAll()
            }
        } catch {
            failed = true
        }
    }

    func endTLS() { session.close() }

    func transportClosed(_ failure: TransportError?, at now: Instant) { inner.transportClosed(failure, at: now) }

    func drain(into output: inout ByteQueue) {
        var plaintext = ByteQueue()
        if session.isEstablished {
            inner.drain(into: &plaintext)
            do throws(TLSError) { try session.write(from: &plaintext) } catch { failed = true }
        }
        session.drain(into: &output)
    }

    var isEstablished: Bool { inner.isEstablished }
    var wantsDisconnect: Bool { failed || inner.wantsDisconnect }
    var nextDeadline: Instant? { inner.nextDeadline }
    func expire(at now: Instant) { inner.expire(at: now) }
}
