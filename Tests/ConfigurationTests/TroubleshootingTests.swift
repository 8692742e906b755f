import Core
import Proxy
import TLS
import TestSupport
import Testing

@testable import Configuration
@testable import System

/// The page quotes messages: each of its rows matches a message in the code, and each of these messages has a row.
@Suite("The troubleshooting page")
struct TroubleshootingTests {
    /// The first column of every table, split at each `…`.
    private let rows: [[String]]

    init() throws {
        let package = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let page = String(
            decoding: try ConfigurationFiles.read(package + "/docs/operate/troubleshooting.md"), as: UTF8.self)
        rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.split(separator: "`")[1].split(separator: "…", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// Whether the parts of a row occur in a message in order, from its start to its end.
    private func isQuoted(_ message: String, by parts: [String]) -> Bool {
        guard message.hasPrefix(parts[0]), parts.count > 1 || message == parts[0] else { return false }
        var rest = message.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard let range = rest.firstRange(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return rest.hasSuffix(parts.last ?? "")
    }

    @Test("It quotes every message, and no other")
    func quotes() throws {
        let messages = try network() + proxy() + tls()
        for message in messages {
            #expect(rows.contains { isQuoted(message, by: $0) }, "\(message)")
        }
        for row in rows {
            #expect(messages.contains { isQuoted($0, by: row) }, "\(row.joined(separator: "…"))")
        }
    }

    // MARK: Messages of the code

    private func network() -> [String] {
        let endpoint = Endpoint(host: "api.push.apple.com", port: 443)
        let address = ConnectAddress.address
        let bound = SocketOptions(localAddress: "192.0.2.7")
        let refused = SystemError(number: 111)
        return [
            TransportError.notResolved(endpoint, -2), .resolverTimedOut(endpoint, after: .seconds(1)),
            .notConnected(endpoint, address, refused, SocketOptions()),
            .notConnected(endpoint, address, refused, bound),
            .connectTimedOut(endpoint, address, after: .seconds(1)), .noAddressOfFamily(endpoint, bound),
            .lost(endpoint, refused),
        ].map(\.message)
    }

    private enum ConnectAddress {
        static var address: SocketAddress {
            guard let address = AddressLookup.numeric(Endpoint(host: "192.0.2.1", port: 443)) else {
                preconditionFailure("these are digits")
            }
            return address
        }
    }

    private func proxy() throws -> [String] {
        let target = Endpoint(host: "api.push.apple.com", port: 443)
        let open = ProxyAddress(endpoint: Endpoint(host: "proxy", port: 3128))
        let closed = ProxyAddress(endpoint: open.endpoint, user: "user", password: "password")
        func refusal(_ response: String, _ proxy: ProxyAddress) -> String {
            var tunnel = ProxyTunnel(to: target, through: proxy)
            do throws(TransportError) {
                _ = try tunnel.receive(Array(response.utf8).span)
                return "open"
            } catch {
                return error.message
            }
        }
        let tunnel = ProxyTunnel(to: target, through: open)
        let unreached = TransportError.notConnected(
            open.endpoint, ConnectAddress.address, SystemError(number: 111), SocketOptions())
        return [
            ProxyNetwork.notReached(unreached).message,
            refusal("HTTP/1.1 407 Denied\r\n\r\n", open), refusal("HTTP/1.1 407 Denied\r\n\r\n", closed),
            refusal("HTTP/1.1 403 Denied\r\n\r\n", open), refusal("HTTP/1.1 502 Bad Gateway\r\n\r\n", open),
            refusal("HTTP/1.1 405 Not Allowed\r\n\r\n", open), refusal("SSH-2.0", open),
            refusal("HTTP/1.1 200 OK" + String(repeating: " ", count: ProxyTunnel.maximumHeader), open),
            tunnel.closedEarly.message, tunnel.timedOut(after: .seconds(10)).message,
        ]
    }

    private func tls() throws -> [String] {
        let now = WallTime(milliseconds: 1_795_014_400_000)
        let day: Int64 = 86_400_000
        let authority = CertificateAuthority(commonName: "Test authority", now: now)
        let other = CertificateAuthority(commonName: "Other authority", now: now)
        typealias Issued = (certificatePEM: String, privateKeyPEM: String)
        let good = authority.issue(names: ["server.example"], usage: .server)

        func failure(
            _ issued: Issued, name: String = "server.example", protocols: [String] = ["h2"],
            asks: Bool = false, shows: TLSContext.Identity? = nil,
            versions: ClosedRange<TLSContext.Version> = .tls12 ... .tls13
        ) throws -> String {
            let client = try TLSContext(
                role: .client, trust: .pem(authority.certificatePEM), identity: shows, protocols: ["h2"],
                versions: versions, checkedAt: now)
            let server = try TLSContext(
                role: .server, trust: asks ? .pem(authority.certificatePEM) : .none,
                identity: .pemText(certificates: issued.certificatePEM, privateKey: issued.privateKeyPEM),
                protocols: protocols, requiresPeerCertificate: asks,
                versions: versions == .tls13 ... .tls13 ? .tls12 ... .tls12 : .tls12 ... .tls13, checkedAt: now)
            return Self.failure(
                TLSSession(context: client, serverName: name), TLSSession(context: server, serverName: nil))
        }
        let past = WallTime(milliseconds: now.milliseconds - day / 2)
        let future = WallTime(milliseconds: now.milliseconds + day)
        let strange = other.issue(usage: .client, commonName: "client")
        let plain = TLSSession(
            context: try TLSContext(role: .client, trust: .none, protocols: ["h2"]), serverName: "server.example")
        plain.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8).span)
        return [
            try failure(authority.issue(names: ["server.example"], validUntil: past, usage: .server)),
            try failure(authority.issue(names: ["server.example"], validFrom: future, usage: .server)),
            try failure(good, name: "other.example"),
            try failure(other.issue(names: ["server.example"], usage: .server)),
            try failure((SelfSignedCertificate.certificatePEM, SelfSignedCertificate.privateKeyPEM)),
            try failure(authority.issue(names: ["server.example"], usage: .client)),
            try failure(good, protocols: []),
            try failure(good, versions: .tls13 ... .tls13),
            Self.failure(plain, nil),
            try failure(good, asks: true),
            try failure(
                good, asks: true,
                shows: .pemText(certificates: strange.certificatePEM, privateKey: strange.privateKeyPEM)),
        ]
    }

    /// The last error of the client.
    private static func failure(_ client: TLSSession, _ server: TLSSession?) -> String {
        func carry(_ sender: TLSSession, _ receiver: TLSSession) -> Bool {
            var wire = ByteQueue()
            sender.drain(into: &wire)
            wire.withBytes { receiver.receive($0) }
            return !wire.isEmpty
        }
        func step(_ session: TLSSession) -> String? {
            do throws(TLSError) {
                guard try session.handshake() else { return nil }
                var plaintext = ByteQueue()
                _ = try session.read(into: &plaintext)
                return nil
            } catch {
                return error.message
            }
        }
        while true {
            let failure = step(client)
            if let failure { return failure }
            guard let server else { return "nothing" }
            _ = step(server)
            let moved = [carry(client, server), carry(server, client)]
            if !moved.contains(true) { return step(client) ?? "nothing" }
        }
    }
}
