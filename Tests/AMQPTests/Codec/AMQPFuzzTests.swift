import AMQP
import Core
import TestSupport
import Testing

@Suite("Fuzzing AMQP: damaged streams")
struct AMQPFuzzTests {
    @Test("A damaged stream ends the connection or passes, and never traps")
    func damaged() throws {
        let seed = Mutator.seed(.random(in: 0 ... .max))
        // Channel and connection methods, a header frame, a body, a heartbeat, nested tables.
        let frames: [[UInt8]] = [
            [1, 0, 1, 0, 0, 0, 4, 0, 20, 0, 41, 0xCE], [1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 50, 0xCE],
            [2, 0, 1, 0, 0, 0, 14, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0xCE], [3, 0, 1, 0, 0, 0, 1, 9, 0xCE],
            [8, 0, 0, 0, 0, 0, 0, 0xCE], [1, 0x61, 0x46, 0, 0, 0, 4], [0x53, 0x7F, 0xFF, 0xFF, 0xFF],
        ]
        var mutator = Mutator(seed: seed, fragments: Mutator.binaryFragments + frames)
        let broker = Broker()
        var properties = MessageProperties()
        properties.headers = ConsumingTests.everyType
        properties.messageID = bytes("m")
        for size in [0, 10, 200] { try broker.put(pattern(size), properties: properties, into: "work") }
        let configuration = AMQPConfiguration(
            address: BrokerAddress(endpoint: Endpoint(host: "b", port: 1)),
            role: .consumer([ConsumerQueue(name: "work", prefetch: 9)]))
        let sent = Recorder.stream(of: broker, to: configuration)
        let now = Instant(nanoseconds: 0)
        var ended = 0
        for _ in 0..<Mutator.inputs(2000) {
            var stream = sent
            mutator.damage(&stream)
            var engine = AMQPEngine(configuration: configuration, epoch: 1)
            engine.transportOpened(at: now)
            for start in stride(from: 0, to: stream.count, by: 100) {
                engine.receive(stream[start..<min(start + 100, stream.count)].span, at: now)
            }
            var closes = 0
            while let event = engine.nextEvent() {
                switch event {
                case .closed: closes += 1
                case .delivery(let delivery): _ = try? MessageProperties(decoding: delivery.rawProperties)
                default: #expect(closes == 0, "nothing comes after the end, seed \(seed)")
                }
            }
            #expect(closes <= 1, "seed \(seed)")
            ended += closes
        }
        #expect(ended > 0, "seed \(seed)")
    }
}
