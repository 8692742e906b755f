import AMQP
import Core
import System
import TestSupport
import Testing

/// Brokers that are slow, disconnect in the middle of a frame, or send unsolicited methods.
@Suite("Hostile brokers")
struct HostileBrokerTests {
    private static let endpoint = Endpoint(host: "broker", port: 5672)
    /// The first delivery of a consumer, without its content.
    private static let delivery = frame(1, bytes("\0<\0<\nharebell-0\0\0\0\0\0\0\0\u{1}\0\0\u{4}work"))

    private static func configuration(_ queues: String...) -> AMQPConfiguration {
        AMQPConfiguration(
            address: BrokerAddress(endpoint: endpoint),
            role: .consumer(queues.map { ConsumerQueue(name: $0, prefetch: 5) }))
    }

    /// The broker's output to a consumer of a queue with two messages.
    private static func stream() throws -> [UInt8] {
        let broker = Broker()
        for size in [40, 5000] { try broker.put(pattern(size), into: "work") }
        return Recorder.stream(of: broker, to: configuration("work"))
    }

    @Test("A connection cut anywhere, even inside a body, yields complete messages and one end without an error")
    func cutAnywhere() throws {
        let stream = try Self.stream()
        let now = Instant(nanoseconds: 0)
        for cut in 0..<stream.count {
            var engine = AMQPEngine(configuration: Self.configuration("work"), epoch: 1)
            engine.transportOpened(at: now)
            let part = stream[..<cut]
            engine.receive(part.span, at: now)
            engine.transportClosed(nil, at: now)
            var sizes: [Int] = []
            var ends: [AMQPError?] = []
            while let event = engine.nextEvent() {
                switch event {
                case .delivery(let delivery): sizes.append(delivery.body.count)
                case .closed(let error): ends.append(error)
                default: break
                }
            }
            #expect([[], [40], [40, 5000]].contains(sizes), "cut at \(cut)")
            #expect(ends.count == 1, "cut at \(cut)")
            #expect(ends.first.flatMap(\.self) != nil, "cut at \(cut)")
        }
    }

    @Test("The unasked close of a channel that counts messages is ignored, and so is one of channel 0")
    func unaskedClose() throws {
        let pair = ConsumingTests.consumer(Broker())
        pair.engine.countMessages(queue: 0, at: pair.now)
        pair.settle()
        _ = pair.takeEvents()
        // channel.close-ok on channels 2 and 0, and channel.open-ok on channel 0.
        for channel: UInt8 in [2, 0] { pair.server.send(raw: [1, 0, channel, 0, 0, 0, 4, 0, 20, 0, 41, 0xCE]) }
        pair.server.send(raw: [1, 0, 0, 0, 0, 0, 8, 0, 20, 0, 11, 0, 0, 0, 0, 0xCE])
        pair.settle()
        #expect(pair.takeEvents().isEmpty)
    }

    @Test("A broker that sends one byte a second in the handshake is given up at the deadline")
    func slowHandshake() throws {
        let network = MemoryNetwork { _ in SlowServer(Broker()) }
        let link = AMQPLink(AMQPEngine(configuration: Self.configuration("work"), epoch: 1))
        network.connect(link, to: Self.endpoint, timeout: .seconds(1))
        network.settle()
        network.advance(by: .seconds(10), turn: { false })
        guard case .closed(let error?)? = link.engine.nextEvent() else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .handshakeTimeout && error.isTransient)
    }

    @Test("A broker that sends one byte of a message a second is given up when it delivers nothing for that long")
    func slowBody() throws {
        let broker = Broker()
        broker.declare("work")
        let server = SlowServer(broker)
        server.isSlow = false
        let network = MemoryNetwork { _ in server }
        let link = AMQPLink(AMQPEngine(configuration: Self.configuration("work"), epoch: 1))
        network.connect(link, to: Self.endpoint, timeout: .seconds(1))
        network.settle()
        server.isSlow = true
        try broker.put(pattern(100_000), into: "work")
        var error: AMQPError?
        network.advance(
            by: .seconds(300),
            turn: {
                while let event = link.engine.nextEvent() { if case .closed(let end) = event { error = end } }
                return false
            })
        #expect(error?.code == .stalled && error?.isTransient == true)
    }

    @Test(
        "A method that AMQP 0-9-1 does not define, or that no broker sends, ends the connection",
        arguments: [(60, 99), (77, 10), (10, 70), (60, 40), (60, 72), (85, 10), (0, 0)])
    func unknownMethod(classID: Int, methodID: Int) throws {
        let pair = ConsumingTests.consumer(Broker())
        let method = [UInt8(classID >> 8), UInt8(classID & 255), UInt8(methodID >> 8), UInt8(methodID & 255)]
        // Zero bytes as arguments, enough for any method.
        let payload = method + [UInt8](repeating: 0, count: 32)
        pair.server.send(raw: [1, 0, 1, 0, 0, 0, UInt8(payload.count)] + payload + [0xCE])
        pair.settle()
        let error = try #require(pair.takeError(), "\(classID).\(methodID) was taken")
        #expect([.badData, .unexpectedFrame].contains(error.code))
        #expect(error.isTransient)
    }

    @Test(
        "Frames that are unterminated, oversized, out of order or hold half a method end the connection",
        arguments: [
            ([8, 0, 0, 0, 0, 0, 0, 0xCD], false), ([3, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0], false),
            ([1, 0, 1, 0, 0, 0, 3, 0, 60, 0, 0xCE], false), ([65, 0, 0, 0, 0, 0, 0, 0xCE], false),
            // A body or a content header without a method, also on channel 0, a delivery without a consumer, another
            // channel; channel.close on channel 0.
            ([3, 0, 1, 0, 0, 0, 1, 9, 0xCE], true),
            ([2, 0, 1, 0, 0, 0, 12, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xCE], true),
            ([2, 0, 0, 0, 0, 0, 14, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xCE], true),
            ([1, 0, 1, 0, 0, 0, 17, 0, 60, 0, 60, 1, 120, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xCE], true),
            ([1, 0, 2, 0, 0, 0, 4, 0, 20, 0, 41, 0xCE], true), ([3, 0, 0, 0, 0, 0, 1, 9, 0xCE], true),
            ([1, 0, 0, 0, 0, 0, 11, 0, 20, 0, 40, 0, 200, 0, 0, 0, 0, 0, 0xCE], true),
            // Properties that end within a string, and within a number.
            (delivery + frame(2, [0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 5, 97]), true),
            (delivery + frame(2, [0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0]), true),
        ] as [([UInt8], Bool)])
    func garbage(frame: [UInt8], isOutOfOrder: Bool) throws {
        let pair = ConsumingTests.consumer(Broker())
        pair.server.send(raw: frame)
        pair.settle()
        #expect(try #require(pair.takeError()).code == (isOutOfOrder ? .unexpectedFrame : .badData))
    }

    @Test("26,000 nested arrays, the most that a frame holds, end nothing: their message is delivered")
    func deepHeaders() throws {
        // Flags of two words, then a table with one entry: nested arrays.
        let depth = 26_000
        var value: [UInt8] = []
        for level in 0..<depth {
            // Each level has the type 'A' and the length of its content.
            let inside = UInt32((depth - 1 - level) * 5)
            value += [UInt8(ascii: "A")] + withBytes(inside)
        }
        let entry = [1, UInt8(ascii: "d")] + value
        let properties: [UInt8] = [0x20, 0x01, 0x00, 0x00] + withBytes(UInt32(entry.count)) + entry
        let header: [UInt8] = [0, 60, 0, 0] + [UInt8](repeating: 0, count: 8) + properties
        // With the stack size of a worker's thread.
        let isDelivered = Guarded(false)
        let thread = try Thread.start(name: "deep", stackSize: Thread.workerStackSize) {
            let pair = ConsumingTests.consumer(Broker())
            _ = pair.takeEvents()
            pair.server.send(raw: Self.delivery + frame(2, header))
            pair.settle()
            let count = pair.takeDeliveries().count
            // A second delivery with the tag of the first.
            pair.server.send(raw: Self.delivery + frame(2, header))
            pair.settle()
            isDelivered.withLock { $0 = count == 1 && pair.takeError()?.code == .unexpectedFrame }
        }
        _ = thread.join(until: .distantFuture)
        #expect(isDelivered.withLock { $0 })
    }
}

private func withBytes(_ number: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
}

private func frame(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [type, 0, 1] + withBytes(UInt32(payload.count)) + payload + [0xCE]
}

/// A broker engine that sends one byte a second.
private final class SlowServer: Recorder {
    private var waiting: [UInt8] = []
    private var next: Instant?
    private var allowance = 0
    var isSlow = true

    override func transportOpened(at now: Instant) {
        next = now
        super.transportOpened(at: now)
    }

    override func drain(into output: inout ByteQueue) {
        var fresh = ByteQueue()
        super.drain(into: &fresh)
        waiting += fresh.copy()
        let count = isSlow ? min(allowance, waiting.count) : waiting.count
        output.append(waiting[..<count])
        waiting.removeFirst(count)
        allowance = 0
    }

    override var nextDeadline: Instant? { [next, super.nextDeadline].compactMap(\.self).min() }

    override func expire(at now: Instant) {
        if let due = next, now >= due {
            allowance = 1
            next = due + .seconds(1)
        }
        super.expire(at: now)
    }
}
