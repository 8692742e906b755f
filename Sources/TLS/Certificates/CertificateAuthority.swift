import COpenSSL
package import Core

/// An in-memory certificate authority for the simulator and the tests.
///
/// All keys are on P-256. A copy of the value is the same authority.
package struct CertificateAuthority: Sendable {
    /// The allowed use of a certificate (RFC 5280 section 4.2.1.12).
    package enum Usage: String, Sendable {
        case server = "serverAuth"
        case client = "clientAuth"
    }

    /// The authority's own certificate, which a peer must trust.
    package let certificatePEM: String

    let privateKeyPEM: String
    private let notBefore: WallTime
    private let notAfter: WallTime

    /// A new authority, valid from a day before `now` until 3650 days after it.
    ///
    /// - Parameter issuer: the authority that signs this one's certificate; `nil` for a root.
    package init(commonName: String, now: WallTime, issuer: CertificateAuthority? = nil) {
        let day: Int64 = 86_400_000
        notBefore = WallTime(milliseconds: now.milliseconds - day)
        notAfter = WallTime(milliseconds: now.milliseconds + 3650 * day)
        let key = ES256.generate()
        var builder = CertificateBuilder(key: key, notBefore: notBefore, notAfter: notAfter)
        builder.addToSubject(NID_commonName, commonName)
        builder.addExtension(NID_basic_constraints, "critical,CA:TRUE")
        builder.addExtension(NID_key_usage, "critical,keyCertSign,cRLSign")
        builder.addExtension(NID_subject_key_identifier, "hash")
        certificatePEM = if let issuer { builder.signed(by: issuer) } else { builder.signed(by: key) }
        privateKeyPEM = PEM.pkcs8(key)
    }

    /// Issues a certificate with a new key.
    ///
    /// - Parameters:
    ///   - names: DNS names for the subject alternative name; the first label may be `*`.
    ///   - addresses: IPv4 and IPv6 addresses for it.
    ///   - validFrom: the authority's own start by default; `validUntil` defaults to its end.
    ///   - commonName: the subject's; by default the first name or address.
    ///   - subjectUID: the subject's user ID.
    ///   - extensions: further extensions, added unchanged.
    package func issue(
        names: [String] = [], addresses: [String] = [], validFrom: WallTime? = nil, validUntil: WallTime? = nil,
        usage: Usage, commonName: String? = nil, subjectUID: String? = nil, extensions: [X509Extension] = []
    ) -> (certificatePEM: String, privateKeyPEM: String) {
        let key = ES256.generate()
        var builder = CertificateBuilder(key: key, notBefore: validFrom ?? notBefore, notAfter: validUntil ?? notAfter)
        if let name = commonName ?? names.first ?? addresses.first { builder.addToSubject(NID_commonName, name) }
        if let subjectUID { builder.addToSubject(NID_userId, subjectUID) }
        builder.addExtension(NID_ext_key_usage, usage.rawValue)
        builder.addAlternativeNames(names: names, addresses: addresses)
        builder.otherExtensions = extensions
        return (builder.signed(by: self), PEM.pkcs8(key))
    }
}
