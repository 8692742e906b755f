package import Settings
package import System
package import TLS

/// What the keys and certificates that a configuration names turned out to be.
package struct CredentialInspection: Sendable {
    package struct App: Sendable {
        package enum Credential: Sendable {
            /// The identifiers as messages show them.
            case token(keyFile: FilePath, keyID: String, teamID: String, isReadable: Bool)
            /// `nil` if it cannot be read.
            case certificate(Certificate?)
        }

        package let app: Configuration.App
        /// The app's topic and environment as messages show them.
        package let topic: String
        package let environment: String
        package let credential: Credential
    }

    /// What was doubtful in the file itself, and every error and warning about the files, in the order of the
    /// configuration's lines.
    package let problems: [ConfigurationProblem]
    package let apps: [App]

    /// The apps' certificates.
    package var certificates: [CertificateWatch.Entry] {
        apps.compactMap { found in
            guard case .certificate(let certificate?) = found.credential else { return nil }
            return CertificateWatch.Entry(
                topic: found.app.topic, environment: found.app.environment, certificate)
        }
    }
}
