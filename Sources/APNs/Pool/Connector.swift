import Core
import TLS

/// Creates a pool's connections: the network, the TLS context, the pace of attempts, and the initial values of the
/// next connection.
struct Connector {
    let context: TLSContext
    let network: any Network
    var dialer: Dialer
    /// The number of the next connection. Serial numbers follow the order of the attempts.
    private(set) var nextSerial: UInt32 = 0
    /// The rate divisor of the connection that ended last. The next one starts with it while no other is open.
    var lastDivisor = 1
    private var random: any RandomNumberGenerator
    /// Whether the limit of attempts per minute was already reported as reached.
    private var isCapped = false

    init(_ dialer: Dialer, context: TLSContext, network: any Network, random: any RandomNumberGenerator) {
        self.dialer = dialer
        self.context = context
        self.network = network
        self.random = random
    }

    /// - Returns: The serial number for a new connection.
    mutating func takeSerial() -> UInt32 {
        defer { nextSerial += 1 }
        return nextSerial
    }

    /// An attempt failed, or its connection was useless.
    mutating func failed(at now: Instant) {
        dialer.failed(at: now, using: &random)
    }

    /// See ``Dialer/peerClosedEarly(at:using:)``.
    mutating func peerClosedEarly(at now: Instant) -> Bool {
        dialer.peerClosedEarly(at: now, using: &random)
    }

    /// An attempt must wait.
    ///
    /// - Returns: Whether the limit of attempts per minute was reached since the last call.
    mutating func becameCapped(at now: Instant) -> Bool {
        guard !isCapped, dialer.isCapped(at: now) else { return false }
        isCapped = true
        return true
    }

    /// Resets the report once attempts are available again.
    mutating func forgetCap(at now: Instant) {
        isCapped = isCapped && dialer.isCapped(at: now)
    }
}
