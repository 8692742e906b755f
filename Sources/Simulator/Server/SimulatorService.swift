import Core
package import System

/// A simulator on the caller's loop.
///
/// If the wall clock may change, the owner calls ``SimulatorContext/synchronize(at:)`` once per turn.
package final class SimulatorService {
    package let context: SimulatorContext
    /// The certificate to trust, in PEM; `nil` if the options contain an identity.
    package let authorityPEM: String?
    private let listener: SocketListener

    /// - Parameter adopt: drives the engine over the accepted socket.
    package init(
        _ options: SimulatorOptions, loop: EventLoop,
        adopt: @escaping (consuming Descriptor, SimulatorEngine) -> Void
    ) throws(SimulatorError) {
        let now = SystemClock.now()
        let (identity, authorityPEM) = try options.makeIdentity(now: now.wall)
        let context = try SimulatorContext(
            options.configuration, script: options.script, identity: identity, now: now)
        self.context = context
        self.authorityPEM = authorityPEM
        do {
            listener = try SocketListener(loop: loop, address: options.address, port: options.port) { socket in
                do {
                    adopt(socket, try context.makeEngine())
                } catch {
                    context.failed(connection: 0, error)
                }
            }
        } catch {
            throw SimulatorError(.listener, "cannot listen: choose another port", underlying: error)
        }
    }

    package var port: UInt16 { listener.port }

    /// Stops accepting connections; open ones stay.
    package func close() {
        listener.close()
    }
}
