import Core
import Testing

@testable import Configuration

/// The settings of `docs/operate/teams.md` and of results per request, with wrong values.
@Suite("Settings of queues and results")
struct TeamSettingTests {
    private static let app = """
        apps:
          - topic: com.example.app
            token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
        """

    private static func configuration(_ line: String) throws(ConfigurationError) -> Configuration {
        try ConfigurationDocument(
            text: "\(line)\n\(app)", file: "harebell.yaml", environment: { _ in nil },
            readFile: { _ throws(ConfigurationFiles.Failure) in
                throw ConfigurationFiles.Failure(message: "No such file or directory")
            }
        ).configuration
    }

    private static func errors(_ line: String) -> [String] {
        do {
            _ = try configuration(line)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test("The rate limit of a queue is read, or off", arguments: ["", ", rate_limit: null", ", rate_limit: ~"])
    func rateLimit(off: String) throws {
        let line = "queues: [{ name: a, rate_limit: { per_second: 50, burst: 10 } }, { name: b\(off) }]"
        let expected = Configuration.RateLimit(perSecond: 50, burst: 10)
        #expect(try Self.configuration(line).queues.map(\.rateLimit) == [expected, nil])
    }

    @Test(
        "A wrong value in the rate limit of a queue is an error in its place",
        arguments: [
            ("{ per_second: 0, burst: 1 }", 47, ".per_second: 0 is out of range; expected 1 to 10000000"),
            ("{ per_second: -5, burst: 1 }", 47, ".per_second: -5 is out of range; expected 1 to 10000000"),
            ("{ per_second: 10000001, burst: 1 }", 47, ".per_second: 10000001 is out of range; expected 1 to 10000000"),
            ("{ per_second: 0.5, burst: 1 }", 47, ".per_second: expected an integer, found a number with a fraction"),
            ("{ per_second: fast, burst: 1 }", 47, ".per_second: expected an integer, found text"),
            ("{ per_second: \"50\", burst: 1 }", 47, ".per_second: expected an integer, found text"),
            ("{ per_second: , burst: 1 }", 47, ".per_second: expected an integer, found nothing"),
            ("{ per_second: 1, burst: 0 }", 57, ".burst: 0 is out of range; expected 1 to 10000000"),
            ("{ per_second: 1, burst: -1 }", 57, ".burst: -1 is out of range; expected 1 to 10000000"),
            ("{ per_second: 1, burst: [1] }", 57, ".burst: expected an integer, found a list"),
            ("{ burst: 1 }", 33, ".per_second is missing: Notifications per second."),
            ("{ per_second: 1 }", 33, ".burst is missing: Notifications at once at most."),
            ("50", 33, ": expected keys and values, found an integer"),
            ("[50, 10]", 33, ": expected keys and values, found a list"),
        ])
    func wrongRateLimit(value: String, column: Int, message: String) {
        let found = Self.errors("queues: [{ name: a, rate_limit: \(value) }]")
        #expect(found == ["harebell.yaml:1:\(column): queues[0].rate_limit\(message)"])
    }

    @Test(
        "An unknown key in the rate limit of a queue is an error with a suggestion",
        arguments: [
            ("per_seconds", "; did you mean \"per_second\"?"), ("bursts", "; did you mean \"burst\"?"),
            ("max_attempts", "; did you mean retry.max_attempts?"), ("zzz", ""),
        ])
    func unknownKey(key: String, hint: String) {
        let found = Self.errors("queues: [{ name: a, rate_limit: { \(key): 1, per_second: 1, burst: 1 } }]")
        #expect(found == ["harebell.yaml:1:35: unknown key \"\(key)\" in queues[0].rate_limit\(hint)"])
    }

    @Test("All wrong values of one rate limit are reported in one run")
    func together() {
        let found = Self.errors("queues: [{ name: a, rate_limit: { per_second: 0, burst: many, rate: 3 } }]")
        #expect(
            found == [
                "harebell.yaml:1:47: queues[0].rate_limit.per_second: 0 is out of range; expected 1 to 10000000",
                "harebell.yaml:1:57: queues[0].rate_limit.burst: expected an integer, found text",
                "harebell.yaml:1:63: unknown key \"rate\" in queues[0].rate_limit",
            ])
    }

    @Test("Results are per notification unless the configuration says per request")
    func resultsPer() throws {
        #expect(try Self.configuration("results: { publish: all }").results.per == .notification)
        #expect(try Self.configuration("results: { per: notification }").results.per == .notification)
        #expect(try Self.configuration("results: { per: request }").results.per == .request)
    }

    @Test(
        "A wrong value of results.per is an error in its place",
        arguments: [
            ("batch", ": \"batch\" is not one of notification, request"),
            ("Request", ": \"Request\" is not one of notification, request; did you mean \"request\"?"),
            ("requests", ": \"requests\" is not one of notification, request; did you mean \"request\"?"),
            ("1", ": \"1\" is not one of notification, request"),
            ("[request]", ": expected one of notification, request, found a list"),
            ("null", ": expected one of notification, request, found nothing"),
        ])
    func wrongResultsPer(value: String, message: String) {
        #expect(Self.errors("results: { per: \(value) }") == ["harebell.yaml:1:17: results.per\(message)"])
    }
}
