import Core
import TestSupport

/// A measured engine; its peer and the network between them are not measured.
final class MeteredEngine: Engine {
    private let engine: any Engine
    private let meter: Meter
    /// Kept from turn to turn, as in a socket.
    private var drained = ByteQueue()

    init(_ engine: any Engine, _ meter: Meter) {
        self.engine = engine
        self.meter = meter
    }

    func transportOpened(at now: Instant) { engine.transportOpened(at: now) }
    func transportClosed(_ failure: TransportError?, at now: Instant) { engine.transportClosed(failure, at: now) }
    var isEstablished: Bool { engine.isEstablished }
    var wantsDisconnect: Bool { engine.wantsDisconnect }
    var nextDeadline: Instant? { engine.nextDeadline }
    func expire(at now: Instant) { engine.expire(at: now) }
    func announceChanges(to waker: Waker) -> Bool { engine.announceChanges(to: waker) }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        // A span cannot be captured; the copy is not measured.
        var copy = ByteQueue()
        copy.append(bytes)
        meter.measure { copy.withBytes { engine.receive($0, at: now) } }
    }

    func drain(into output: inout ByteQueue) {
        // A local variable: with the property, the compiler makes copies of `counted` of which one calls the other, and
        // callgrind takes that for the end.
        var drained = ByteQueue(minimumCapacity: 64)
        swap(&drained, &self.drained)
        meter.measure { engine.drain(into: &drained) }
        drained.withBytes { output.append($0) }
        drained.removeAll()
        swap(&drained, &self.drained)
    }
}

/// The network of a worker: engines that connect are measured.
final class MeteredNetwork: Network {
    let network: MemoryNetwork
    private let meter: Meter
    private var engines: [ObjectIdentifier: MeteredEngine] = [:]

    init(_ network: MemoryNetwork, _ meter: Meter) {
        self.network = network
        self.meter = meter
    }

    func connect(
        _ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration
    ) {
        let metered = MeteredEngine(engine, meter)
        engines[ObjectIdentifier(engine)] = metered
        network.connect(metered, to: endpoint, through: proxy, timeout: timeout)
    }

    func disconnect(_ engine: any Engine) {
        network.disconnect(engines.removeValue(forKey: ObjectIdentifier(engine)) ?? engine)
    }
}
