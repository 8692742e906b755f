import APNs
import Core
import HTTP2
import Simulator
import TLS
import TestSupport

/// Certificates and keys made once, and text forms for tests.
enum Fixture {
    static let start = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 1_790_000_000_000))
    static let endpoint = Endpoint(host: "api.push.apple.com", port: 443)
    private static let authority = CertificateAuthority(commonName: "A test authority", now: start.wall)
    private static let server = authority.issue(names: [endpoint.host], usage: .server)

    static func clientContext() throws -> TLSContext {
        try TLSContext(role: .client, trust: .pem(authority.certificatePEM), protocols: ["h2"], checkedAt: start.wall)
    }

    /// - Parameter validUntil: the certificate's lifetime from the start.
    static func serverContext(protocols: [String] = ["h2"], validUntil: Duration? = nil) throws -> TLSContext {
        var identity = server
        if let validUntil {
            let end = WallTime(milliseconds: start.wall.milliseconds + validUntil.nanoseconds / 1_000_000)
            identity = authority.issue(names: [endpoint.host], validUntil: end, usage: .server)
        }
        return try TLSContext(
            role: .server, trust: .none,
            identity: .pemText(certificates: identity.certificatePEM, privateKey: identity.privateKeyPEM),
            protocols: protocols)
    }

    /// An APNs with Apple's rules.
    static func simulator(_ script: String = "") throws -> SimulatorContext {
        var configuration = SimulatorConfiguration()
        let parsed = try Script(script, file: "script", &configuration)
        return try SimulatorContext(
            configuration, script: parsed,
            identity: .pemText(certificates: server.certificatePEM, privateKey: server.privateKeyPEM), now: start)
    }

    static func tokens() -> ProviderTokenSource {
        ProviderTokenSource(key: SigningKey.generate(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    }

    /// A notification whose `apns-id` ends in `number`.
    ///
    /// - Parameter payload: its size in bytes.
    static func request(
        _ number: Handle = 1, payload: Int = 20, expiration: Int64? = 0, collapseID: String? = nil,
        priority: Priority? = .immediate, device: DeviceToken? = nil
    ) -> APNsRequest {
        let token = device ?? DeviceToken("00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")
        guard let token else { preconditionFailure("these are hexadecimal digits") }
        let content = Notification.Content(
            pushType: .alert, priority: priority, expiration: expiration,
            collapseID: collapseID.map { ArraySlice($0.utf8) },
            payload: ArraySlice("{\"aps\":{}}".utf8) + [UInt8](repeating: 0x20, count: payload - 10))
        return APNsRequest(
            Notification(target: .device(token), content), topic: ArraySlice("com.example.app".utf8),
            id: NotificationID(high: 0x1234, low: UInt64(number.value)))
    }
}

/// Minutes after the start; the wall clock may be elsewhere.
func moment(_ minutes: Double, wall: Double? = nil) -> Moment {
    Moment(
        instant: .seconds(minutes * 60),
        wall: WallTime(milliseconds: Fixture.start.wall.milliseconds + Int64((wall ?? minutes) * 60_000)))
}

extension Instant {
    static func seconds(_ seconds: Double) -> Instant {
        Instant(nanoseconds: Int64(seconds * 1e9))
    }
}

extension APNsEngine.Event: CustomStringConvertible {
    /// `responded 1: 410 Unregistered`, `lost 1: unknown`, `closed: stalled` …
    public var description: String {
        switch self {
        case .ready: "ready"
        case .responded(let handle, let response):
            "responded \(handle.value): \(response.status)" + (response.reason.map { " \($0.rawValue)" } ?? "")
        case .lost(let handle, let loss): "lost \(handle.value): \(loss.processed.name)"
        case .goaway(let reason): "goaway: \(reason)"
        case .closed(let error): "closed" + (error.map { ": \($0.code.rawValue)" } ?? "")
        }
    }
}
