import Core
package import System
package import TLS

/// The address and the certificate of a simulator.
package struct SimulatorOptions: Sendable {
    package var configuration = SimulatorConfiguration()
    package var script = Script()
    /// An IPv4 or IPv6 address.
    package var address = "127.0.0.1"
    /// 0 for any free port.
    package var port: UInt16 = 0
    /// The server's certificate and key; `nil` issues one for this machine from a new authority.
    package var identity: TLSContext.Identity?
    /// The output file for the new authority's certificate, which clients have to trust.
    package var authorityFile: String?

    package init() {}

    /// The identity, issued if necessary, and the certificate that a client has to trust.
    func makeIdentity(now: WallTime) throws(Complaint) -> (TLSContext.Identity, authorityPEM: String?) {
        if let identity { return (identity, nil) }
        let authority = CertificateAuthority(commonName: "Harebell Simulator", now: now)
        let certificate = authority.issue(names: ["localhost"], addresses: ["127.0.0.1", "::1"], usage: .server)
        let identity = TLSContext.Identity.pemText(
            certificates: certificate.certificatePEM, privateKey: certificate.privateKeyPEM)
        return (identity, authority.certificatePEM)
    }
}

/// A simulator on the caller's loop.
///
/// If the wall clock may change, the owner calls ``SimulatorContext/synchronize(at:)`` once per turn.
package final class SimulatorService {
    package let context: SimulatorContext
    /// The certificate to trust, in PEM; `nil` if the options contain an identity.
    package let authorityPEM: String?
    private let listener: SocketListener

    /// - Parameter adopt: drives the engine over the accepted socket.
    /// - Throws: an ``EventLoopError`` if it cannot listen, else a ``Complaint`` about the options.
    package init(
        _ options: SimulatorOptions, loop: EventLoop,
        adopt: @escaping (consuming Descriptor, SimulatorEngine) -> Void
    ) throws {
        let now = SystemClock.now()
        let (identity, authorityPEM) = try options.makeIdentity(now: now.wall)
        let context = try SimulatorContext(
            options.configuration, script: options.script, identity: identity, now: now)
        self.context = context
        self.authorityPEM = authorityPEM
        listener = try SocketListener(loop: loop, address: options.address, port: options.port) { socket in
            do {
                adopt(socket, try context.makeEngine())
            } catch {
                context.failed(connection: 0, error)
            }
        }
        // After it listens: a second simulator on this port, which fails, would replace the file of the first.
        guard let authorityPEM, let file = options.authorityFile else { return }
        do {
            try WholeFile.write(authorityPEM.utf8, to: file)
        } catch {
            listener.close()
            throw Complaint("cannot write \(file): \(error)")
        }
    }

    package var port: UInt16 { listener.port }

    /// Stops accepting connections; open ones stay.
    package func close() {
        listener.close()
    }
}
