import Core
import TestSupport

/// An engine that is measured: its peer and the network between them are not.
final class MeteredEngine: Engine {
    private let engine: any Engine
    private let meter: Meter

    init(_ engine: any Engine, _ meter: Meter) {
        self.engine = engine
        self.meter = meter
    }

    func transportOpened(at now: Instant) { engine.transportOpened(at: now) }
    func transportClosed(_ failure: TransportError?, at now: Instant) { engine.transportClosed(failure, at: now) }
    var wantsDisconnect: Bool { engine.wantsDisconnect }
    var nextDeadline: Instant? { engine.nextDeadline }
    func expire(at now: Instant) { engine.expire(at: now) }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        // A span cannot be captured; the copy is not measured.
        var copy = ByteQueue()
        copy.append(bytes)
        meter.measure { copy.withBytes { engine.receive($0, at: now) } }
    }

    func drain(into output: inout ByteQueue) {
        var drained = ByteQueue()
        meter.measure { engine.drain(into: &drained) }
        drained.withBytes { output.append($0) }
    }
}

/// The network as a worker sees it: whatever connects is measured.
final class MeteredNetwork: Network {
    let network: MemoryNetwork
    private let meter: Meter
    private var engines: [ObjectIdentifier: MeteredEngine] = [:]

    init(_ network: MemoryNetwork, _ meter: Meter) {
        self.network = network
        self.meter = meter
    }

    func connect(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration) {
        let metered = MeteredEngine(engine, meter)
        engines[ObjectIdentifier(engine)] = metered
        network.connect(metered, to: endpoint, timeout: timeout)
    }

    func disconnect(_ engine: any Engine) {
        network.disconnect(engines.removeValue(forKey: ObjectIdentifier(engine)) ?? engine)
    }
}
