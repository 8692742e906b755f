import Core
import Testing

@testable import Configuration

@Suite("Access tokens as passwords")
struct AccessTokenTests {
    private static func token(_ claims: String, header: String = "{\"alg\":\"RS256\"}") -> String {
        [header, claims, "signature"].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
    }

    @Test("The expiration of a token is its exp")
    func expires() throws {
        let token = try #require(AccessToken(Secret(Self.token("{\"sub\":\"a\",\"exp\":1700000000}"))))
        #expect(token.expires == WallTime(milliseconds: 1_700_000_000_000))
    }

    @Test(
        "A token without a valid exp has no expiration",
        arguments: ["{}", "{\"exp\":null}", "{\"exp\":\"1\"}", "{\"exp\":-1}", "{\"exp\":9223372036854775807}"])
    func endless(claims: String) throws {
        let token = try #require(AccessToken(Secret(Self.token(claims))))
        #expect(token.expires == nil)
    }

    @Test(
        "Other passwords are not tokens",
        arguments: ["secret", "a.b.c", "..", "", token("[]"), token("{}", header: "x"), token("{}") + ".x", "p.w"])
    func others(password: String) {
        #expect(AccessToken(Secret(password)) == nil)
    }
}
