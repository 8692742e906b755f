import Core
import HTTP2
import TLS

@testable import Simulator

/// Test data of this target.
enum Samples {
    static let token = String(repeating: "00fc13adff785122", count: 4)
    static let id = "123e4567-e89b-12d3-a456-426655440000"
    static let payload = Array("{\"aps\":{\"alert\":\"Hello\"}}".utf8)
    static let channelID = "dHN0LXNyY2gtY2hubA=="
    /// 2026-11-21 00:00:00 UTC.
    static let start = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 1_795_219_200_000))
    static let keyID = "ABC123DEFG"
    static let teamID = "DEF123GHIJ"
    static let signingKey = SigningKey.generate().pkcs8PEM
    static let anotherSigningKey = SigningKey.generate().pkcs8PEM

    /// The headers of Apple's own sample, with changes; `nil` leaves a header out.
    static func headers(token: String = token, _ changes: [String: String?] = [:]) -> [HTTP2Header] {
        let sample: [(String, String)] = [
            (":method", "POST"), (":scheme", "https"), (":path", "/3/device/\(token)"), ("host", "api.push.apple.com"),
            ("authorization", firstBearer), ("apns-id", id), ("apns-push-type", "alert"), ("apns-expiration", "0"),
            ("apns-priority", "10"), ("apns-topic", "com.example.MyApp"),
        ]
        let known = Set(sample.map(\.0))
        let kept = sample.compactMap { name, value -> HTTP2Header? in
            guard let change = changes[name] else { return HTTP2Header(name, value) }
            return change.map { HTTP2Header(name, $0) }
        }
        let added = changes.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
        return kept + added.compactMap { name, value in value.map { HTTP2Header(name, $0) } }
    }

    /// The headers of Apple's sample of a broadcast, with changes.
    static func broadcast(_ changes: [String: String?] = [:]) -> [HTTP2Header] {
        let base: [String: String?] = [
            ":path": "/4/broadcasts/apps/com.example.MyApp", "apns-id": nil, "apns-request-id": id,
            "apns-topic": nil, "apns-push-type": "liveactivity", "apns-channel-id": channelID,
        ]
        return headers(base.merging(changes) { $1 })
    }

    /// Every signature differs, so one token is signed once and reused.
    static let firstBearer = bearer()

    /// A provider token signed with ``signingKey``.
    static func bearer(
        key: String = keyID, team: String = teamID, issuedAt: Int64 = start.wall.seconds, pem: String = signingKey
    ) -> String {
        let header = Base64.url.encode(Array("{\"alg\":\"ES256\",\"kid\":\"\(key)\"}".utf8))
        let claims = Base64.url.encode(Array("{\"iss\":\"\(team)\",\"iat\":\(issuedAt)}".utf8))
        let signed = "\(header).\(claims)"
        guard let key = try? SigningKey(pkcs8PEM: pem) else {
            preconditionFailure("a key that was just made can be read")
        }
        return "bearer \(signed).\(Base64.url.encode(key.signES256(Array(signed.utf8).span)))"
    }

    static func moment(_ duration: Duration) -> Moment {
        Moment(
            instant: start.instant + duration,
            wall: WallTime(milliseconds: start.wall.milliseconds + duration.nanoseconds / 1_000_000))
    }
}

extension SimulatedResponse {
    /// For tests that compare only status and reason.
    var withoutCause: SimulatedResponse { SimulatedResponse(status, reason) }

    /// The refusal that a check throws; `nil` if it passes.
    static func thrown(by check: () throws(SimulatedResponse) -> Void) -> SimulatedResponse? {
        do throws(SimulatedResponse) {
            try check()
            return nil
        } catch {
            return error
        }
    }
}
