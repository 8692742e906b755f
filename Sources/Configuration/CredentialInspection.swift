package import Settings
package import System
package import TLS

/// The inspection of a configuration's keys and certificates.
package struct CredentialInspection: Sendable {
    package struct App: Sendable {
        package enum Credential: Sendable {
            /// The identifiers as shown in messages.
            case token(keyFile: FilePath, keyID: String, teamID: String, isReadable: Bool)
            /// `nil` if it cannot be read.
            case certificate(Certificate?)
        }

        package let app: Configuration.App
        /// The app's topic and environment as shown in messages.
        package let topic: String
        package let environment: String
        package let credential: Credential
    }

    /// The warnings of the configuration, and all errors and warnings about the referenced files, in line order.
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
