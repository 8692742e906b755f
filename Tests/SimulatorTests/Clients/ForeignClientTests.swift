import Foundation
import TestSupport
import Testing

@testable import Simulator

/// How aioapns (PyPI), a third-party client of APNs, reads the simulator's responses.
@Suite(
    "The simulator and a third-party client", .timeLimit(.minutes(15)),
    .enabled(if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): aioapns"))
struct ForeignClientTests {
    private typealias Fixture = SimulatorServerTests.Fixture

    /// The output of aioapns for one notification.
    private struct Result: Decodable, Equatable, CustomStringConvertible {
        var status: String?
        var reason: String?
        var timestamp: Int64?
        var exception: String?

        enum CodingKeys: String, CodingKey {
            case status, timestamp, exception
            case reason = "description"
        }

        var description: String {
            "\(exception ?? status ?? "?") \(reason ?? "") \(timestamp.map(String.init) ?? "")"
        }

        static let accepted = Result(status: "200")

        static func refused(_ status: String, _ reason: String) -> Result {
            Result(status: status, reason: reason)
        }
    }

    /// One notification: `token`, and other arguments of aioapns.
    private typealias Request = [String: Any]

    private func send(
        _ fixture: Fixture, _ steps: [[Request]], key: String = Samples.signingKey, clock: Int = 0
    ) throws -> [Result] {
        let plan: [String: Any] = [
            "port": Int(fixture.server.port), "ca": fixture.folder.file("ca.pem"),
            "key": try fixture.folder.write(key, to: "key.p8"), "key_id": Samples.keyID, "team_id": Samples.teamID,
            "topic": "com.example.MyApp", "clock": clock, "steps": steps,
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: plan), as: UTF8.self)
        let output = try ForeignClient.run("aioapns_client.py", [try fixture.folder.write(text, to: "plan")])
        return try output.split(separator: "\n").map { try JSONDecoder().decode(Result.self, from: Data($0.utf8)) }
    }

    private func alert(_ token: String, _ more: Request = [:]) -> Request {
        more.merging(["token": token, "push_type": "alert"]) { left, _ in left }
    }

    @Test("The client parses each outcome of a device token")
    func outcomes() throws {
        let fixture = try Fixture("token 0c*: 410 Unregistered timestamp=1795132800000")
        let results = try send(
            fixture, ["00fc", "bad0", "0dd0", "0c", "fa11", "0ff0", "zz", "00fd"].map { [alert($0)] })
        #expect(
            results == [
                .accepted, .refused("400", "BadDeviceToken"), .refused("400", "DeviceTokenNotForTopic"),
                Result(status: "410", reason: "Unregistered", timestamp: 1_795_132_800_000),
                .refused("500", "InternalServerError"), .refused("503", "ServiceUnavailable"),
                .refused("400", "BadDeviceToken"), .accepted,
            ])
        #expect(fixture.server.ledger.statistics.connections == 1)
        #expect(fixture.server.ledger.failures.isEmpty)
    }

    @Test("The client parses each violated rule of a notification")
    func rules() throws {
        let fixture = try Fixture("set topic com.example.MyApp")
        let results = try send(
            fixture,
            [
                alert("00", ["apns_topic": "com.example.Other"]), alert("00", ["apns_topic": "com.example.MyApp.voip"]),
                alert("00", ["push_type": "background", "priority": 10]), alert("00", ["priority": 7]),
                alert("00", ["collapse_key": String(repeating: "x", count: 65)]),
                alert("00", ["payload": ["aps": ["alert": String(repeating: "x", count: 4096)]]]),
                alert("00", ["payload": ["custom": 1]]),
                alert("00", ["push_type": "voip", "apns_topic": "com.example.MyApp.voip", "priority": 5]),
            ].map { [$0] })
        #expect(
            results == [
                .refused("400", "TopicDisallowed"), .refused("400", "BadTopic"), .refused("400", "BadPriority"),
                .refused("400", "BadPriority"), .refused("400", "BadCollapseId"),
                .refused("413", "PayloadTooLarge"), .refused("400", "PayloadEmpty"), .accepted,
            ])
    }

    @Test("The client parses the refusal of a provider token that is too old, from the future, or of another key")
    func providerTokens() throws {
        let fixture = try Fixture()
        #expect(try send(fixture, [[alert("00")]], clock: -7200) == [.refused("403", "ExpiredProviderToken")])
        #expect(try send(fixture, [[alert("00")]], clock: 7200) == [.refused("403", "InvalidProviderToken")])
        let other = Samples.anotherSigningKey
        #expect(try send(fixture, [[alert("00")]], key: other) == [.refused("403", "InvalidProviderToken")])
        #expect(try send(fixture, [[alert("00")]]) == [.accepted])
    }

    @Test("Hundreds of notifications at once are accepted on one connection")
    func burst() throws {
        // aioapns opens a thousand streams before it knows the limit, and never raises its own again.
        let fixture = try Fixture("set streams-before-token 1000\nchance 50%: delay 1ms..50ms")
        let results = try send(fixture, [[alert("00")], (0..<300).map { alert(String(1000 + $0)) }])
        #expect(results.count == 301 && results.allSatisfy { $0 == .accepted })
        #expect(fixture.server.ledger.statistics.duplicates == 0)
        #expect(fixture.server.ledger.statistics.connections == 1)
    }

    @Test("On GOAWAY it reconnects, and retries an excluded request")
    func goaway() throws {
        let fixture = try Fixture("token 0a*, attempt 1: goaway Shutdown last=before")
        #expect(
            try send(fixture, ["00", "c105e0", "01", "0a", "02"].map { [alert($0)] })
                == Array(repeating: .accepted, count: 5))
        #expect(fixture.server.ledger.statistics.connections == 3)
        #expect(fixture.server.ledger.statistics.ceded == 1)
    }
}
