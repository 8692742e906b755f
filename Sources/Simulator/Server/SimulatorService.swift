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
    private let managementListener: SocketListener?

    /// Starts to listen.
    ///
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
        func listen(_ port: UInt16, _ service: PortService) throws -> SocketListener {
            try SocketListener(loop: loop, address: options.address, port: port) { socket in
                do {
                    adopt(socket, try context.makeEngine(service))
                } catch {
                    context.failed(connection: 0, error)
                }
            }
        }
        do {
            listener = try listen(options.port, options.managementPort == nil ? .all : .notifications)
            managementListener = try options.managementPort.map { try listen($0, .channelManagement) }
        } catch {
            throw SimulatorError(.listener, "cannot listen: choose another port", underlying: error)
        }
    }

    package var port: UInt16 { listener.port }

    /// `nil` if channels are managed at ``port``.
    package var managementPort: UInt16? { managementListener?.port }

    /// Stops accepting connections; open ones stay.
    package func close() {
        listener.close()
        managementListener?.close()
    }
}
