package import Core

/// Holds an engine for the two that use it: the network that drives it, and its owner.
package final class APNsLink: Engine {
    package var engine: APNsEngine

    package init(_ engine: consuming APNsEngine) {
        self.engine = engine
    }

    package var isEstablished: Bool { engine.isEstablished }
    package var wantsDisconnect: Bool { engine.wantsDisconnect }
    package var nextDeadline: Instant? { engine.nextDeadline }

    package func transportOpened(at now: Instant) { engine.transportOpened(at: now) }
    package func receive(_ bytes: Span<UInt8>, at now: Instant) { engine.receive(bytes, at: now) }
    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        engine.transportClosed(failure, at: now)
    }
    package func drain(into output: inout ByteQueue) { engine.drain(into: &output) }
    package func expire(at now: Instant) { engine.expire(at: now) }

    package func announceChanges(to waker: Waker) -> Bool {
        engine.waker = waker
        return true
    }
}
