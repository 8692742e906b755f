import Core
import TLS

/// Makes a pool's connections: the network, the TLS context, the pace of attempts, and what the next connection starts
/// with.
struct Connector {
    let context: TLSContext
    let network: any Network
    var dialer: Dialer
    /// What the next connection is numbered. Serial numbers follow the order of the attempts.
    private(set) var nextSerial: UInt32 = 0
    /// How slow the connection was that ended last: the next one starts as slow while no other is open.
    var lastDivisor = 1
    private var random: any RandomNumberGenerator
    /// Whether the attempts of the last minute are known to be used up.
    private var isCapped = false

    init(_ dialer: Dialer, context: TLSContext, network: any Network, random: any RandomNumberGenerator) {
        self.dialer = dialer
        self.context = context
        self.network = network
        self.random = random
    }

    /// - Returns: The serial number of a connection that was just made.
    mutating func takeSerial() -> UInt32 {
        defer { nextSerial += 1 }
        return nextSerial
    }

    /// An attempt led to no connection, or to one that brought nothing.
    mutating func failed(at now: Instant) {
        dialer.failed(at: now, using: &random)
    }

    /// See ``Dialer/leftEarly(at:using:)``.
    mutating func leftEarly(at now: Instant) -> Bool {
        dialer.leftEarly(at: now, using: &random)
    }

    /// An attempt has to wait.
    ///
    /// - Returns: Whether the attempts of the last minute are used up, and were not at the call before.
    mutating func becameCapped(at now: Instant) -> Bool {
        guard !isCapped, dialer.isCapped(at: now) else { return false }
        isCapped = true
        return true
    }

    /// Forgets that the attempts were used up once they no longer are.
    mutating func forgetCap(at now: Instant) {
        isCapped = isCapped && dialer.isCapped(at: now)
    }
}
