import Synchronization
import System

/// The ports that ``freePort()`` has returned in this process.
private let handedOut = Mutex<Set<UInt16>>([])

/// A TCP port of 127.0.0.1 without a listener, a different one at each call.
///
/// The kernel picks such ports at random and may repeat one; ports returned before are skipped. Another process may
/// take the port before it is used, so callers must handle a port in use.
package func freePort() throws -> UInt16 {
    while true {
        let port = try SocketListener(loop: EventLoop(), address: "127.0.0.1", port: 0) { _ in }.port
        if handedOut.withLock({ $0.insert(port).inserted }) { return port }
    }
}
