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
    private struct Result: Decodable, Equatable {
        var status: String?
        var reason: String?
        var timestamp: Int64?
        var exception: String?

        enum CodingKeys: String, CodingKey {
            case status, timestamp, exception
            case reason = "description"
        }

        static let accepted = Result(status: "200")

        static func refused(_ status: String, _ reason: String) -> Result {
            Result(status: status, reason: reason)
        }
    }

    /// Sends an alert to each device token, one after the other.
    private func send(_ fixture: Fixture, _ tokens: String...) throws -> [Result] {
        let plan: [String: Any] = [
            "port": Int(fixture.server.port), "ca": fixture.folder.file("ca.pem"),
            "key": try fixture.folder.write(Samples.signingKey, to: "key.p8"), "key_id": Samples.keyID,
            "team_id": Samples.teamID, "topic": "com.example.MyApp",
            "steps": tokens.map { [["token": $0, "push_type": "alert"]] },
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: plan), as: UTF8.self)
        let output = try ForeignClient.run("aioapns_client.py", [try fixture.folder.write(text, to: "plan")])
        return try output.split(separator: "\n").map { try JSONDecoder().decode(Result.self, from: Data($0.utf8)) }
    }

    @Test("The client parses each outcome of a device token")
    func outcomes() throws {
        let fixture = try Fixture("token 0c*: 410 Unregistered timestamp=1795132800000")
        let results = try send(fixture, "00fc", "bad0", "0dd0", "0c", "fa11", "0ff0", "zz", "00fd")
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

    @Test("On GOAWAY it reconnects, and retries an excluded request")
    func goaway() throws {
        let fixture = try Fixture("token 0a*, attempt 1: goaway Shutdown last=before")
        let results = try send(fixture, "00", "c105e0", "01", "0a", "02")
        #expect(results == Array(repeating: .accepted, count: 5))
        #expect(fixture.server.ledger.statistics.connections == 3)
        #expect(fixture.server.ledger.statistics.ceded == 1)
    }
}
