package import Core

/// Why an operation with TLS, a certificate or a key failed.
package struct TLSError: ComponentError {
    /// One of the codes below, else OpenSSL's reason string (`bad record mac` …).
    package typealias Code = ErrorCode<TLSError>

    package let code: Code
    package let message: String
    package let isTransient: Bool

    init(_ code: Code, _ message: String, isTransient: Bool = false) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
    }

    /// A failure of OpenSSL without a code of ours; empties OpenSSL's error queue.
    static func openSSL(_ what: String, isTransient: Bool = false) -> TLSError {
        let reason = ErrorQueue.take()?.text ?? "unknown"
        return TLSError(Code(rawValue: reason), "\(what): \(reason)", isTransient: isTransient)
    }
}

extension ErrorCode<TLSError> {
    // The peer's certificate.
    package static var certificateExpired: Self { Self(rawValue: "certificateExpired") }
    package static var certificateNotYetValid: Self { Self(rawValue: "certificateNotYetValid") }
    package static var hostnameMismatch: Self { Self(rawValue: "hostnameMismatch") }
    package static var unknownAuthority: Self { Self(rawValue: "unknownAuthority") }
    package static var wrongCertificateUsage: Self { Self(rawValue: "wrongCertificateUsage") }

    // The handshake.
    package static var noProtocol: Self { Self(rawValue: "noProtocol") }
    package static var noCommonVersion: Self { Self(rawValue: "noCommonVersion") }
    package static var notTLS: Self { Self(rawValue: "notTLS") }
    package static var closedInHandshake: Self { Self(rawValue: "closedInHandshake") }

    // Our own certificate, as judged by the peer.
    package static var clientCertificateMissing: Self { Self(rawValue: "clientCertificateMissing") }
    package static var clientCertificateRefused: Self { Self(rawValue: "clientCertificateRefused") }
    package static var serverCertificateRefused: Self { Self(rawValue: "serverCertificateRefused") }

    // Files and texts.
    package static var unreadableFile: Self { Self(rawValue: "unreadableFile") }
    package static var badPEM: Self { Self(rawValue: "badPEM") }
    package static var badPKCS12: Self { Self(rawValue: "badPKCS12") }
    package static var wrongPassword: Self { Self(rawValue: "wrongPassword") }
    package static var keyMismatch: Self { Self(rawValue: "keyMismatch") }
    package static var wrongKeyType: Self { Self(rawValue: "wrongKeyType") }
    package static var encryptedKey: Self { Self(rawValue: "encryptedKey") }
}
