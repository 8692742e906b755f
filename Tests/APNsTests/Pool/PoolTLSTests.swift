import APNs
import Core
import TLS
import TestSupport
import Testing

/// Peers without usable TLS: requests wait, attempts back off, the cause is reported, and a correct peer is used at
/// once.
@Suite("A pool and peers without TLS")
struct PoolTLSTests {
    enum Peer: CaseIterable, Sendable {
        case expired, wrongHost, unknownAuthority, noALPN, http1, oldTLS, plainText, hangsUp, wantsCertificate

        func join(_ world: World) throws {
            let stranger = CertificateAuthority(commonName: "Another", now: Fixture.start.wall)
            switch self {
            case .expired: world.serverContext = try Fixture.serverContext(validUntil: .seconds(-3600))
            case .wrongHost: world.serverContext = try Fixture.serverContext(names: ["other.example"])
            case .unknownAuthority: world.serverContext = try Fixture.serverContext(issuer: stranger)
            case .noALPN: world.serverContext = try Fixture.serverContext(protocols: [])
            case .http1: world.serverContext = try Fixture.serverContext(protocols: ["http/1.1"])
            case .wantsCertificate:
                world.serverContext = try Fixture.serverContext(clientsOf: stranger, versions: .tls12 ... .tls12)
            case .oldTLS:
                // A ServerHello of version 3.2 (RFC 4346, section 7.4.1.3): random bytes, no session, one cipher.
                let hello: [UInt8] = [3, 2] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x13, 0]
                let message: [UInt8] = [2, 0, 0, UInt8(hello.count)] + hello
                world.stranger = { Stranger([0x16, 3, 2, 0, UInt8(message.count)] + message) }
            case .plainText: world.stranger = { Stranger(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
            case .hangsUp: world.stranger = { Stranger([]) }
            }
        }

        var code: APNsError.Code {
            switch self {
            case .noALPN, .http1: .noHTTP2
            case .hangsUp: .connectionClosed
            case .expired, .wrongHost, .unknownAuthority, .oldTLS, .plainText, .wantsCertificate: .tls
            }
        }

        /// The message for the operator.
        var words: String {
            switch self {
            case .expired: "expired on 2026-"
            case .wrongHost: "is not for api.push.apple.com: it names other.example"
            case .unknownAuthority: "comes from \"Another\", an authority that is not trusted here"
            case .noALPN, .http1: "agreed to no application protocol (offered: h2)"
            case .oldTLS: "have no TLS version in common"
            case .plainText: "does not speak TLS on this port"
            case .hangsUp: "closed the connection without GOAWAY"
            case .wantsCertificate: "requires a client certificate, but none is configured"
            }
        }
    }

    @Test("It waits, backs off, reports the cause, and recovers once the peer is correct", arguments: Peer.allCases)
    func waits(peer: Peer) throws {
        let world = try World { $0.connections = 2...4 }
        try peer.join(world)
        world.submit(0..<5)
        world.pass(.seconds(300))
        #expect(world.endings == 0 && world.pool.waitingCount == 5)
        #expect((11...60).contains(world.dialledAt.count), "\(world.dialledAt.count)")
        #expect(world.alarms == [.unreachable(failures: 10)])
        #expect(world.disconnects.count >= 10)
        for error in Set(world.disconnects.map { $0.map { "\($0.code.rawValue) \($0)" } ?? "nothing" }) {
            #expect(error.hasPrefix(peer.code.rawValue) && error.contains(peer.words))
        }
        world.serverContext = try Fixture.serverContext()
        world.stranger = nil
        world.pass(.seconds(60))
        #expect(world.responses.count == 5 && world.alarms.last == .reachable)
    }
}
