import APNs
import Core
import TLS
import Testing

@Suite("ProviderTokenSource")
struct ProviderTokenSourceTests {
    @Test("The token meets RFC 7519 and Apple's requirements")
    func shape() throws {
        let key = SigningKey.generate()
        let publicKey = key.publicKeyPEM
        let tokens = ProviderTokenSource(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let token = tokens.token(at: moment(0))
        let text = String(decoding: token.headerValue, as: UTF8.self)
        #expect(text.hasPrefix("bearer "))
        let parts = text.dropFirst(7).split(separator: ".")
        try #require(parts.count == 3)
        let header = try #require(Base64.url.decode(parts[0]))
        let claims = try #require(Base64.url.decode(parts[1]))
        let signature = try #require(Base64.url.decode(parts[2]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"DEF123GHIJ","iat":1790000000}"#)
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(try VerifyingKey(publicKeyPEM: publicKey).verifyES256(message.span, signature: signature.span))
        #expect(token.issuedAt.seconds == 1_790_000_000)
    }

    @Test("An expired token is renewed once, however often its expiry is reported")
    func expired() {
        let tokens = Fixture.tokens()
        let first = tokens.token(at: moment(0))
        #expect(!tokens.expired(generation: first.generation, at: moment(10)), "too young to be signed anew")
        #expect(tokens.expired(generation: first.generation, at: moment(30)))
        let second = tokens.token(at: moment(30))
        #expect(tokens.expired(generation: first.generation, at: moment(51)), "another worker was faster")
        #expect(tokens.token(at: moment(51)) == second)
    }

    @Test("A token that came too soon gives way to the previous one, until that one is old")
    func refusedAsUpdate() {
        let tokens = Fixture.tokens()
        let first = tokens.token(at: moment(0))
        #expect(tokens.refusedAsUpdate(generation: first.generation, at: moment(1)) == .none, "there is none before it")
        let second = tokens.token(at: moment(50))
        #expect(tokens.refusedAsUpdate(generation: second.generation, at: moment(50)) == .older)
        #expect(tokens.refusedAsUpdate(generation: second.generation, at: moment(50)) == .inUse)
        #expect(tokens.token(at: moment(58.9)) == first)
        #expect(tokens.token(at: moment(59)) == second, "never renewed within 20 minutes")
        #expect(tokens.refusedAsUpdate(generation: second.generation, at: moment(59)) == .none)
        #expect(tokens.token(at: moment(100)).generation == second.generation + 1)
    }

    @Test("An older token that APNs calls expired is replaced by the newest")
    func olderExpired() {
        let tokens = Fixture.tokens()
        let first = tokens.token(at: moment(0))
        let second = tokens.token(at: moment(50))
        _ = tokens.refusedAsUpdate(generation: second.generation, at: moment(50))
        #expect(tokens.expired(generation: first.generation, at: moment(51)))
        #expect(tokens.token(at: moment(51)) == second)
        #expect(tokens.refusedAsUpdate(generation: second.generation, at: moment(52)) == .none)
    }
}
