import Core
import Glibc
import TLS
import TestSupport
import Testing

@testable import Configuration

@Suite("Access tokens as passwords")
struct AccessTokenTests {
    private static func token(_ claims: String, header: String = "{\"alg\":\"RS256\"}") -> String {
        [header, claims, "signature"].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
    }

    @Test(
        "The expiration of a token is its exp, and one without a valid exp has none",
        arguments: [
            (#"{"sub":"a","exp":1700000000}"#, true), (#"{"sub":"a","exp":1700000000.5}"#, true),
            (#"{"sub":"a","exp":1.7e9}"#, true), ("{}", false), (#"{"exp":null}"#, false), (#"{"exp":"1"}"#, false),
            (#"{"exp":-1}"#, false), (#"{"exp":9223372036854775807}"#, false),
        ])
    func expires(claims: String, isValid: Bool) throws {
        let token = try #require(AccessToken(Secret(Self.token(claims))))
        #expect(token.expires == (isValid ? WallTime(milliseconds: 1_700_000_000_000) : nil))
    }

    @Test(
        "Other passwords are not tokens",
        arguments: ["secret", "a.b.c", "..", "", token("[]"), token("{}", header: "x"), token("{}") + ".x", "p.w"])
    func others(password: String) {
        #expect(AccessToken(Secret(password)) == nil)
    }

    // MARK: harebell check

    private static let now = WallTime(milliseconds: 1_795_300_000_000)

    /// The findings about a configuration with this password, which is valid apart from it.
    private static func problems(password: String) throws -> [String] {
        let folder = try TemporaryDirectory()
        for (name, content) in [("AuthKey.p8", SigningKey.generate().pkcs8PEM), ("password", password)] {
            #expect(unsafe chmod(try folder.write(content, to: name), 0o600) == 0)
        }
        let file = try folder.write(
            """
            broker: { endpoints: ["amqp://harebell@broker/%2f"], password_file: password }
            apps:
              - topic: com.example.app
                token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
            """, to: "harebell.yaml")
        let problems = try ConfigurationDocument.load(path: file).inspect(now: now).problems
        #expect(problems.allSatisfy { $0.severity == .warning && !$0.message.contains("eyJ") })
        return problems.map { $0.description.replacing(folder.path + "/", with: "") }
    }

    @Test(
        "A check warns about a token that has expired or expires within five minutes",
        arguments: [
            (-86_400, "expired on 2026-11-20T22:26:40Z"), (-1, "expired on 2026-11-21T22:26:39Z"),
            (0, "expired on 2026-11-21T22:26:40Z"), (1, "expires in 1 s, on 2026-11-21T22:26:41Z"),
            (299, "expires in 299 s, on 2026-11-21T22:31:39Z"),
            (300, nil), (3600, nil),
        ] as [(Int64, String?)])
    func checked(left: Int64, warning: String?) throws {
        for end in ["", "\n"] {
            let token = Self.token("{\"sub\":\"a\",\"exp\":\(Self.now.seconds + left)}")
            let expected = warning.map {
                "harebell.yaml:1:69: warning: broker.password_file: the access token \($0): write a new token to "
                    + "password, and keep it renewed"
            }
            #expect(try Self.problems(password: token + end) == [expected].compactMap(\.self))
        }
    }
}
