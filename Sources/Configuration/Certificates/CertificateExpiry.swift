package import Core

/// How close a certificate is to its expiry.
package enum CertificateExpiry: Sendable, Equatable {
    case far
    /// Expires in less than 30 days, 7 days or one day; `days` is the number of whole days left.
    case near(days: Int64)
    case soon(days: Int64)
    case today
    case over
    /// Not valid yet.
    case early

    private static let day: Int64 = 86_400_000

    package init(from notBefore: WallTime, until notAfter: WallTime, at now: WallTime) {
        let days = (notAfter.milliseconds - now.milliseconds) / Self.day
        self =
            switch days {
            case _ where notAfter < now: .over
            case _ where now < notBefore: .early
            case ..<1: .today
            case ..<7: .soon(days: days)
            case ..<30: .near(days: days)
            default: .far
            }
    }
}
