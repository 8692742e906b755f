import Core
import System
import Testing

@testable import Configuration
@testable import Runtime

@Suite("The watch over the broker's password")
struct SecretWatchTests {
    private static func token(_ number: Int, expires: Int64) -> Secret {
        let parts = ["{\"n\":\(number)}", "{\"exp\":\(expires)}", "x"]
        return Secret(parts.map { Base64.url.encode(Array($0.utf8)) }.joined(separator: "."))
    }

    private static func moment(_ seconds: Double) -> Moment {
        let milliseconds = Int64(seconds * 1000)
        return Moment(
            instant: Instant(nanoseconds: milliseconds * 1_000_000), wall: WallTime(milliseconds: milliseconds))
    }

    private static func watch(_ secret: Secret) throws -> SecretWatch {
        let broker = Configuration.Broker(
            endpoints: [], password: secret, passwordFile: FilePath("/password"), tls: Configuration.TLSFiles(),
            heartbeat: .seconds(15), maximumMessage: 1)
        return try #require(SecretWatch(broker, at: moment(0)))
    }

    private static func seconds(_ watch: SecretWatch) -> Double {
        Double(watch.nextCheck.nanoseconds) / 1e9
    }

    @Test("Another password counts when two checks in a row have found it, or the file is known to be complete")
    func renewed() throws {
        var watch = try Self.watch(Secret("one"))
        #expect(watch.checked(.success(Secret("one")), at: Self.moment(10)) == nil)
        #expect(Self.seconds(watch) == 20)
        #expect(watch.checked(.success(Secret("tw")), at: Self.moment(20)) == nil)
        #expect(Self.seconds(watch) == 21)
        #expect(watch.checked(.success(Secret("two")), at: Self.moment(21)) == nil)
        #expect(watch.checked(.success(Secret("two")), at: Self.moment(22)) == .renewed)
        #expect(watch.secret == Secret("two") && watch.token == nil)
        #expect(watch.checked(.success(Secret("three")), isComplete: true, at: Self.moment(30)) == .renewed)
        #expect(watch.checked(.success(Secret("four")), at: Self.moment(40)) == nil)
        #expect(watch.checked(.success(Secret("three")), at: Self.moment(41)) == nil)
        #expect(watch.secret == Secret("three"))
    }

    @Test("An unreadable file is reported once for each reason, and changes nothing")
    func unreadable() throws {
        var watch = try Self.watch(Secret("one"))
        let missing = Complaint("missing")
        #expect(watch.checked(.failure(missing), at: Self.moment(10)) == .unreadable("missing"))
        #expect(watch.checked(.failure(missing), at: Self.moment(20)) == nil)
        #expect(watch.checked(.failure(.init("empty")), at: Self.moment(30)) == .unreadable("empty"))
        #expect(watch.secret == Secret("one"))
        #expect(watch.checked(.success(Secret("one")), at: Self.moment(40)) == nil)
        #expect(watch.checked(.failure(.init("empty")), at: Self.moment(50)) == .unreadable("empty"))
    }

    @Test("Near a token's expiration the file is checked more often, with one warning, until the next token")
    func expires() throws {
        let first = Self.token(1, expires: 400)
        var watch = try Self.watch(first)
        var (now, looks, warnings): (Double, [Double], [Double]) = (0, [], [])
        while now < 400 {
            now = Self.seconds(watch)
            looks.append(now)
            if watch.checked(.success(first), at: Self.moment(now)) == .expiresSoon { warnings.append(now) }
        }
        let gaps = zip(looks, looks.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { (1...10).contains($0) })
        #expect(gaps.first == 10 && gaps.last == 1 && looks.contains(319), "a tenth of what is left at 310")
        #expect(warnings.count == 1 && (340...346).contains(warnings[0]))
        #expect(watch.secondsLeft(at: Self.moment(2400).wall) == -2000)
        // A short-lived token: the warning is in its last fifth.
        let second = Self.token(2, expires: 430)
        #expect(watch.checked(.success(second), isComplete: true, at: Self.moment(410)) == .renewed)
        #expect(watch.secondsLeft(at: Self.moment(410).wall) == 20)
        #expect(watch.checked(.success(second), at: Self.moment(425)) == nil)
        #expect(watch.checked(.success(second), at: Self.moment(426)) == .expiresSoon)
    }
}
