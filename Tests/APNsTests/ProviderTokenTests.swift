import APNs
import Core
import TLS
import Testing

@Suite("TokenRenewal")
struct TokenRenewalTests {
    private func moment(_ minutes: Double, wall: Double? = nil) -> Moment {
        Moment(
            instant: .seconds(minutes * 60),
            wall: WallTime(milliseconds: Fixture.start.wall.milliseconds + Int64((wall ?? minutes) * 60_000)))
    }

    @Test(
        "Unasked, a token is renewed at 50 minutes and not before", arguments: [(49.99, false), (50, true), (60, true)])
    func age(minutes: Double, isDue: Bool) {
        var renewal = TokenRenewal()
        let first = renewal.needsToken(at: moment(0))
        let second = renewal.needsToken(at: moment(minutes))
        #expect(first && second == isDue)
    }

    @Test("A refused token is renewed at 20 minutes and not before", arguments: [(19.99, false), (20, true)])
    func rejected(minutes: Double, isDue: Bool) {
        var renewal = TokenRenewal()
        _ = renewal.needsToken(at: moment(0))
        renewal.rejected()
        let second = renewal.needsToken(at: moment(minutes))
        let third = renewal.needsToken(at: moment(minutes + 20))
        #expect(second == isDue)
        #expect(third != isDue, "the refusal of one token does not renew the next one")
    }

    @Test("After a suspended machine wakes, the wall clock alone says that the token is old")
    func suspended() {
        var renewal = TokenRenewal()
        _ = renewal.needsToken(at: moment(0))
        let isDue = renewal.needsToken(at: moment(5, wall: 125))
        #expect(isDue)
    }

    @Test(
        "A wall clock that is set back makes a new token, but not within 20 minutes",
        arguments: [(19.0, false), (20, true)])
    func setBack(minutes: Double, isDue: Bool) {
        var renewal = TokenRenewal()
        _ = renewal.needsToken(at: moment(0))
        let found = renewal.needsToken(at: moment(minutes, wall: minutes - 120))
        #expect(found == isDue)
    }

    @Test("Through clock jumps of up to two hours no token is used after 60 minutes, and none made within 20")
    func randomWalk() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            var renewal = TokenRenewal()
            var minutes = 0.0
            var wall = 0.0
            var signed: (minutes: Double, wall: Double)?
            for _ in 0..<500 {
                let step = Double.random(in: 0...8, using: &random)
                minutes += step
                wall +=
                    step
                    + (Int.random(in: 0..<30, using: &random) == 0 ? Double.random(in: -120...120, using: &random) : 0)
                if Int.random(in: 0..<10, using: &random) == 0 { renewal.rejected() }
                let isNew = renewal.needsToken(at: moment(minutes, wall: wall))
                if isNew {
                    if let signed {
                        // The wall clock counts whole milliseconds.
                        let age = max(minutes - signed.minutes, wall - signed.wall)
                        #expect(age >= 20 - 1 / 60_000, "seed \(seed)")
                    }
                    signed = (minutes, wall)
                } else if let signed {
                    #expect(minutes - signed.minutes < 60 && wall - signed.wall < 60, "seed \(seed)")
                }
            }
        }
    }
}

@Suite("ProviderTokenSource")
struct ProviderTokenSourceTests {
    private func moment(_ minutes: Double) -> Moment {
        Moment(
            instant: .seconds(minutes * 60),
            wall: WallTime(milliseconds: Fixture.start.wall.milliseconds + Int64(minutes * 60_000)))
    }

    @Test("The token is what RFC 7519 and Apple ask for")
    func shape() throws {
        let key = SigningKey.generate()
        let publicKey = key.publicKeyPEM
        let tokens = ProviderTokenSource(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let token = tokens.token(at: moment(0))
        let text = String(decoding: token.headerValue, as: UTF8.self)
        #expect(text.hasPrefix("bearer "))
        let parts = text.dropFirst(7).split(separator: ".")
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0]))
        let claims = try #require(Base64URL.decode(parts[1]))
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"DEF123GHIJ","iat":1790000000}"#)
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(try VerifyingKey(publicKeyPEM: publicKey).verifyES256(message.span, signature: signature.span))
        #expect(token.issuedAt.seconds == 1_790_000_000)
    }

    @Test("One token serves until it is old, and each new one has the next generation")
    func generations() {
        let tokens = Fixture.tokens()
        let first = tokens.token(at: moment(0))
        #expect(tokens.token(at: moment(49)) == first)
        let second = tokens.token(at: moment(50))
        #expect(second.generation == first.generation + 1 && second != first)
    }

    @Test("A refusal gives one fresh token, whoever and however often it is told")
    func rejection() {
        let tokens = Fixture.tokens()
        let first = tokens.token(at: moment(0))
        #expect(!tokens.rejected(generation: first.generation, at: moment(10)), "too young to be signed anew")
        #expect(tokens.rejected(generation: first.generation, at: moment(30)))
        let second = tokens.token(at: moment(30))
        #expect(tokens.rejected(generation: first.generation, at: moment(51)), "another worker was faster")
        #expect(tokens.token(at: moment(51)) == second)
    }
}
