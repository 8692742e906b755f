package import Core

/// How near the end of a certificate is.
package enum CertificateExpiry: Sendable, Equatable {
    case far
    /// In less than 30 days, 7 days, one day; with the whole days that are left.
    case near(days: Int64)
    case soon(days: Int64)
    case today
    case over
    /// Its time has not come.
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
