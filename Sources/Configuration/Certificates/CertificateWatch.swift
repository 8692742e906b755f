package import Core
package import TLS

/// Warns about the expiry of the apps' certificates: at the start, then once a day.
package struct CertificateWatch: Sendable {
    package struct Entry: Sendable, Equatable {
        /// The app's topic.
        package let topic: String
        package let environment: Environment
        package let notBefore: WallTime
        package let notAfter: WallTime

        package init(topic: String, environment: Environment, _ certificate: Certificate) {
            self.topic = topic
            self.environment = environment
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
        }

        /// For `harebell_certificate_expiry_seconds{topic}`: negative once the certificate has expired.
        package func secondsLeft(at now: WallTime) -> Int64 {
            (notAfter.milliseconds - now.milliseconds) / 1000
        }
    }

    package static let interval = Duration.seconds(86_400)

    package let entries: [Entry]
    private var due: Instant

    /// - Parameter now: the time of the first warnings.
    package init(_ entries: [Entry], at now: Instant) {
        self.entries = entries
        due = now
    }

    /// `nil` without certificates.
    package var nextDeadline: Instant? {
        entries.isEmpty ? nil : due
    }

    /// The certificates that have expired or soon will, if warnings are due.
    package mutating func warnings(at now: Moment) -> [(Entry, CertificateExpiry)] {
        guard due <= now.instant else { return [] }
        due = now.instant + Self.interval
        return entries.compactMap { entry in
            let expiry = CertificateExpiry(from: entry.notBefore, until: entry.notAfter, at: now.wall)
            return expiry == .far ? nil : (entry, expiry)
        }
    }
}
