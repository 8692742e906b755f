import Core
package import TLS

/// Where a simulator listens and with what certificate.
package struct SimulatorOptions: Sendable {
    package var configuration = SimulatorConfiguration()
    package var script = Script()
    /// An IPv4 or IPv6 address in digits.
    package var address = "127.0.0.1"
    /// 0 takes any free one.
    package var port: UInt16 = 0
    /// Where channels are managed, and nothing else; 0 takes any free one; `nil` manages them at ``port``.
    package var managementPort: UInt16?
    /// The server's own certificate and key; `nil` has one issued for ``names`` and ``addresses`` by a new authority.
    package var identity: TLSContext.Identity?
    package var names = ["localhost"]
    package var addresses = ["127.0.0.1", "::1"]
    /// Where the new authority's certificate is written, for clients to trust.
    package var authorityFile: String?
    /// Whether the ledger keeps each payload.
    package var keepsPayloads = false

    package init() {}

    /// The identity, made on demand, and the certificate that a client has to trust for it.
    func makeIdentity(now: WallTime) throws(SimulatorError) -> (TLSContext.Identity, authorityPEM: String?) {
        if let identity { return (identity, nil) }
        let authority = CertificateAuthority(commonName: "Harebell Simulator", now: now)
        let certificate = authority.issue(names: names, addresses: addresses, usage: .server)
        if let authorityFile { try TextFile.write(authority.certificatePEM, to: authorityFile) }
        let identity = TLSContext.Identity.pemText(
            certificates: certificate.certificatePEM, privateKey: certificate.privateKeyPEM)
        return (identity, authority.certificatePEM)
    }
}
