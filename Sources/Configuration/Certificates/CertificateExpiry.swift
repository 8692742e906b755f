package import Core

package enum CertificateExpiry: Sendable, Equatable {
    case far
    /// Expires in less than 30 days: in this number of whole days.
    case near(days: Int64)
    case over
    /// Not valid yet.
    case early

    package init(from notBefore: WallTime, until notAfter: WallTime, at now: WallTime) {
        let days = (notAfter.milliseconds - now.milliseconds) / 86_400_000
        self =
            switch days {
            case _ where notAfter < now: .over
            case _ where now < notBefore: .early
            case ..<30: .near(days: days)
            default: .far
            }
    }
}
