import Core

/// A peer that closes the connection at the first bytes, whatever they are.
final class Stranger: Engine {
    private(set) var wantsDisconnect = false
    let isEstablished = true
    let nextDeadline: Instant? = nil

    func transportOpened(at now: Instant) {}

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        wantsDisconnect = true
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {}
    func drain(into output: inout ByteQueue) {}
    func expire(at now: Instant) {}
}
