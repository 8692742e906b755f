package import Core

/// Holds an engine for the two that use it: the network that drives it, and its owner.
package final class AMQPLink: Engine {
    package var engine: AMQPEngine
    /// Whether the network has called the engine since its owner last found no event.
    var mayHaveEvents = false

    package init(_ engine: consuming AMQPEngine) {
        self.engine = engine
    }

    package var isEstablished: Bool { engine.isEstablished }
    package var wantsDisconnect: Bool { engine.wantsDisconnect }
    package var nextDeadline: Instant? { engine.nextDeadline }

    package func transportOpened(at now: Instant) {
        mayHaveEvents = true
        engine.transportOpened(at: now)
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        mayHaveEvents = true
        engine.receive(bytes, at: now)
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        mayHaveEvents = true
        engine.transportClosed(failure, at: now)
    }

    package func drain(into output: inout ByteQueue) {
        engine.drain(into: &output)
        if engine.wantsDisconnect { mayHaveEvents = true }
    }

    package func expire(at now: Instant) {
        mayHaveEvents = true
        engine.expire(at: now)
    }

    package func announceChanges(to waker: Waker) -> Bool {
        engine.waker = waker
        return true
    }
}
