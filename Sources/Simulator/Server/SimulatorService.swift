import Core
package import System

/// A simulator on a loop of the caller's.
///
/// Its owner lets it know the time once per turn by ``SimulatorContext/synchronize(at:)`` if the wall clock may be set.
package final class SimulatorService {
    package let context: SimulatorContext
    /// What a client has to trust, in PEM; `nil` if the options brought a certificate.
    package let authorityPEM: String?
    private let listener: SocketListener
    private let managementListener: SocketListener?

    /// Listens from now on.
    package init(_ options: SimulatorOptions, loop: EventLoop, network: SocketNetwork) throws(SimulatorError) {
        let now = SystemClock.now()
        let (identity, authorityPEM) = try options.makeIdentity(now: now.wall)
        let ledger = SimulatorLedger(
            maximumRecords: options.configuration.maximumRecords,
            maximumNotificationIDs: options.configuration.maximumNotificationIDs, keepsPayloads: options.keepsPayloads)
        let context = try SimulatorContext(
            options.configuration, script: options.script, identity: identity, ledger: ledger, now: now)
        self.context = context
        self.authorityPEM = authorityPEM
        func listen(_ port: UInt16, _ service: PortService) throws -> SocketListener {
            try SocketListener(loop: loop, address: options.address, port: port) { socket in
                do {
                    network.adopt(socket, try context.makeEngine(service))
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

    /// `nil` where channels are managed at ``port``.
    package var managementPort: UInt16? { managementListener?.port }

    /// Stops accepting; open connections stay.
    package func close() {
        listener.close()
        managementListener?.close()
    }
}
