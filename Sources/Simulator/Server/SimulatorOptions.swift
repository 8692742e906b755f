import Core
package import TLS

/// The address and the certificate of a simulator.
package struct SimulatorOptions: Sendable {
    package var configuration = SimulatorConfiguration()
    package var script = Script()
    /// An IPv4 or IPv6 address.
    package var address = "127.0.0.1"
    /// 0 for any free port.
    package var port: UInt16 = 0
    /// The server's certificate and key; `nil` issues one for ``names`` and ``addresses`` from a new authority.
    package var identity: TLSContext.Identity?
    package var names = ["localhost"]
    package var addresses = ["127.0.0.1", "::1"]
    /// The output file for the new authority's certificate, which clients have to trust.
    package var authorityFile: String?

    package init() {}

    /// The identity, issued if necessary, and the certificate that a client has to trust.
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
