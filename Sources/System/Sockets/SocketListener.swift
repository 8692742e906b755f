import CLinux
package import Core
import Glibc

/// A listening TCP socket, as a part of a loop.
///
/// If the process has no free descriptors or memory, a waiting connection cannot be accepted and keeps the socket
/// readable, so a loop would spin. The listener then stops watching for ``pauseTime``. Connections wait in the backlog
/// until descriptors are available again.
package final class SocketListener {
    /// The maximum of accepted connections per turn, so that the other sockets are served.
    package static let acceptsPerTurn = 64
    /// How long the listener pauses after a failure.
    package static let pauseTime = Duration.milliseconds(100)
    /// The maximum of completed connections that wait to be accepted.
    private static let backlog: Int32 = 512

    package let port: UInt16
    package private(set) var pauses = 0

    private unowned let loop: EventLoop
    private var socket: Descriptor?
    private let onAccept: (consuming Descriptor) -> Void
    private var registration: Registration?
    private var pausedUntil: Instant?

    /// Listens until ``close()``.
    ///
    /// - Parameters:
    ///   - address: A numeric IPv4 or IPv6 address.
    ///   - port: 0 for any free one.
    ///   - onAccept: Receives a non-blocking socket, which closes when it is released.
    package init(
        loop: EventLoop, address: String, port: UInt16, onAccept: @escaping (consuming Descriptor) -> Void
    ) throws(EventLoopError) {
        let endpoint = Endpoint(host: address, port: port)
        let socket: Descriptor
        do throws(SystemError) {
            socket = try Self.listen(at: AddressLookup.digits(endpoint))
        } catch {
            throw EventLoopError("cannot listen at \(endpoint)", error)
        }
        self.loop = loop
        self.onAccept = onAccept
        self.port = SocketAddress(ofSocket: socket)?.endpoint.port ?? port
        let number = socket.number
        self.socket = consume socket
        registration = try loop.register(descriptor: number, interest: .readable) { [self] in accept(at: $1) }
        loop.add(self)
    }

    private static func listen(at address: SocketAddress) throws(SystemError) -> Descriptor {
        let socket = try Descriptor.socket(family: address.family)
        // A restarted process gets its port back although old connections are in TIME_WAIT.
        try socket.set(SO_REUSEADDR, of: SOL_SOCKET, to: 1)
        try socket.bind(to: address)
        try socket.listen(backlog: Self.backlog)
        return socket
    }

    /// Stops listening and releases the port; accepted connections stay.
    package func close() {
        loop.deregister(&registration)
        socket = nil
        pausedUntil = nil
    }
}

extension SocketListener: LoopParticipant {
    private func accept(at now: Moment) {
        for _ in 0..<Self.acceptsPerTurn {
            // The receiver of a connection may close the listener.
            guard registration != nil else { return }
            do {
                onAccept(try socket!.accept())
            } catch {
                if Self.isOver(error) { continue }
                if error.number != EAGAIN { pause(at: now) }
                return
            }
        }
    }

    /// Whether the error concerns only the connection to be accepted. Source: accept(2), "Error handling".
    private static func isOver(_ error: SystemError) -> Bool {
        switch error.number {
        case EINTR, ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH, EPERM:
            true
        default: false
        }
    }

    private func pause(at now: Moment) {
        guard let registration else { return }
        pauses += 1
        pausedUntil = now.instant + Self.pauseTime
        loop.update(registration, interest: [])
    }

    package var nextDeadline: Instant? {
        pausedUntil
    }

    package func expire(at now: Moment) {
        guard let registration, let pausedUntil, pausedUntil <= now.instant else { return }
        self.pausedUntil = nil
        loop.update(registration, interest: .readable)
    }

    package func flush(at now: Moment) {}
}
