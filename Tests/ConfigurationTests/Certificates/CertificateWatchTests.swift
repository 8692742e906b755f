import Core
import TLS
import TestSupport
import Testing

@testable import Configuration

@Suite("Certificate watch")
struct CertificateWatchTests {
    private static let start = WallTime(milliseconds: 1_795_300_000_000)
    private static let authority = CertificateAuthority(commonName: "Test", now: start)

    private static func moment(_ time: Duration) -> Moment {
        Moment(
            instant: Instant(nanoseconds: 0) + time,
            wall: WallTime(milliseconds: start.milliseconds + time.nanoseconds / 1_000_000))
    }

    private static func entry(_ topic: String, validFor time: Duration) throws -> CertificateWatch.Entry {
        let issued = authority.issueProvider(bundleID: topic, validUntil: moment(time).wall)
        let certificate = try Certificate(pem: issued.certificatePEM)
        return CertificateWatch.Entry(topic: topic, environment: .production, certificate)
    }

    private static let day = Duration.seconds(86_400)

    @Test("It warns at the start and once a day, with rising severity before the end")
    func daily() throws {
        var watch = CertificateWatch(
            [try Self.entry("a", validFor: Self.day * 31), try Self.entry("b", validFor: Self.day * 100)],
            at: Self.moment(.zero).instant)
        var said: [CertificateExpiry] = []
        for day in 0..<34 {
            let now = Self.moment(Self.day * day)
            #expect(watch.nextDeadline == now.instant)
            let warnings = watch.warnings(at: now)
            #expect(warnings.allSatisfy { $0.0.topic == "a" })
            said += warnings.map(\.1)
            #expect(watch.warnings(at: now).isEmpty)
        }
        #expect(said.count == 32)
        #expect(said.prefix(2) == [.near(days: 29), .near(days: 28)])
        #expect(said.filter { if case .near = $0 { true } else { false } }.count == 23)
        let end: [CertificateExpiry] = (1...6).reversed().map { .soon(days: $0) } + [.today, .over, .over]
        #expect(Array(said.suffix(9)) == end)
    }

    @Test("Without certificates no deadline is set")
    func nothing() {
        #expect(CertificateWatch([], at: Instant(nanoseconds: 0)).nextDeadline == nil)
    }

    @Test("A certificate that is not valid yet is reported as well")
    func early() {
        let later = WallTime(milliseconds: Self.start.milliseconds + 1)
        #expect(CertificateExpiry(from: later, until: Self.moment(Self.day * 90).wall, at: Self.start) == .early)
    }

    @Test("The remaining seconds go below zero")
    func seconds() throws {
        let entry = try Self.entry("a", validFor: .seconds(90))
        #expect(entry.secondsLeft(at: Self.start) == 90)
        #expect(entry.secondsLeft(at: Self.moment(.seconds(100)).wall) == -10)
    }
}
