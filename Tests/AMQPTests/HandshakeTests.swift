import AMQP
import Core
import TestSupport
import Testing

@Suite("Handshake")
struct HandshakeTests {
    @Test("Each role opens, and the client identifies itself")
    func opens() {
        let broker = Broker()
        broker.declare("work")
        for role in [AMQPRole.publisher, .control, .consumer([ConsumerQueue(name: "work", prefetch: 5)])] {
            let pair = Pair(role, broker: broker) { $0.connectionName = "the name" }
            #expect(pair.engine.isOpen == true)
            let events = pair.takeEvents()
            guard case .opened(let server)? = events.first else {
                Issue.record("not opened: \(events)")
                return
            }
            #expect(server == ServerProperties(product: "Memory", version: "3.10.0"))
            let table = try? FieldTable(decoding: pair.server.clientProperties[...])
            #expect(table?["connection_name"] == .string("the name"))
            guard case .table(let capabilities)? = table?["capabilities"] else {
                Issue.record("no capabilities")
                return
            }
            for name in [
                "consumer_cancel_notify", "connection.blocked", "basic.nack", "publisher_confirms",
                "authentication_failure_close", "exchange_exchange_bindings",
            ] {
                #expect(capabilities[name] == .boolean(true), "\(name)")
            }
        }
        #expect(broker.violations.isEmpty)
    }

    @Test(
        "The lower heartbeat is agreed on, and a broker without one takes ours; zero turns it off",
        arguments: [(60, 15, 15), (1, 15, 1), (0, 15, 15), (60, 0, 0)])
    func heartbeat(offered: Int, wanted: Int, agreed: Int) {
        let broker = Broker()
        broker.heartbeat = UInt16(offered)
        let pair = Pair(.publisher, broker: broker) { $0.heartbeat = .seconds(wanted) }
        #expect(pair.server.heartbeat == .seconds(agreed) && pair.engine.isOpen)
    }

    @Test("A refused login is reported; one at which the broker hangs up may succeed soon", arguments: [false, true])
    func refusedLogin(hangsUp: Bool) throws {
        let broker = Broker()
        broker.users = ["guest": "secret"]
        broker.loginRefusal = hangsUp ? .hangUp : .closeFrame
        let pair = Pair(.publisher, broker: broker)
        let error = try #require(pair.takeError())
        #expect(error.code == .accessRefused && error.isTransient == hangsUp)
        #expect(pair.engine.isEstablished == true, "its address is a broker's")
        #expect(!error.description.contains("secret"))
    }

    @Test(
        "A login of more than the 4096 bytes of a first frame is named as the likely reason of the end",
        arguments: [3816, 3817], [true, false])
    func longToken(length: Int, hangsUp: Bool) throws {
        let broker = Broker()
        broker.loginRefusal = hangsUp ? .hangUp : .closeFrame
        var address = BrokerAddress(endpoint: Endpoint(host: "broker", port: 5672))
        address.password = String(repeating: "x", count: length)
        let error = try #require(Pair(.publisher, broker: broker, address: address).takeError())
        #expect(error.code == .accessRefused && error.isTransient == (hangsUp || length == 3817))
        #expect(error.message.contains("initial_frame_max") == (length == 3817))
        #expect(!error.message.contains("xxx"))
    }

    @Test("One channel is enough for one queue, and too few for two")
    func channelMax() throws {
        let broker = Broker()
        broker.channelMax = 1
        for name in ["a", "b"] { broker.declare(name) }
        let one = Pair(.consumer([ConsumerQueue(name: "a", prefetch: 1)]), broker: broker)
        #expect(one.takeEvents().names == ["opened", "consuming"])
        one.engine.inspect("missing", at: one.now)
        one.advance(by: .seconds(100))
        #expect(one.takeEvents().isEmpty && broker.violations.isEmpty, "no channel is left to ask on")
        let two = Pair(.consumer(["a", "b"].map { ConsumerQueue(name: $0, prefetch: 1) }), broker: broker)
        let error = try #require(two.takeError())
        #expect(error.code == .notAllowed && !error.isTransient && error.message.contains("allows 1 channels"))
    }

    @Test(
        "The smaller frame size is agreed on, and one below AMQP's minimum is refused",
        arguments: [0, 4096, 8192, 1 << 20])
    func frameMax(offered: UInt32) throws {
        let broker = Broker()
        broker.frameMax = offered
        broker.declare("work")
        let pair = Pair(.publisher, broker: broker)
        let agreed = offered == 0 ? 131_072 : min(offered, 131_072)
        try pair.publish(pattern(300_000), to: "work")
        pair.settle()
        #expect(pair.server.agreedFrameMax == Int(agreed))
        #expect(broker.messages(in: "work").map(\.body) == [pattern(300_000)] && broker.violations.isEmpty)
        broker.frameMax = 4095
        #expect(try #require(Pair(.publisher, broker: broker).takeError()).code == .unexpectedFrame)
    }

    @Test(
        "A peer with another protocol is recognised",
        arguments: [
            bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), bytes("AMQP") + [0, 1, 0, 0], [21, 3, 3, 0, 2, 2, 40, 0],
            // The connection.start of a broker with version 0-8.
            bytes("\u{1}\0\0\0\0\0\u{1C}\0\u{A}\0\u{A}\0\u{8}\0\0\0\0\0\0\0\u{5}PLAIN\0\0\0\u{5}en_US") + [0xCE],
        ])
    func otherProtocol(greeting: [UInt8]) throws {
        let address = BrokerAddress(endpoint: Endpoint(host: "broker", port: 80))
        var engine = AMQPEngine(configuration: AMQPConfiguration(address: address, role: .publisher), epoch: 1)
        let now = Instant(nanoseconds: 0)
        engine.transportOpened(at: now)
        engine.receive(greeting.span, at: now)
        guard case .closed(let error?)? = engine.nextEvent() else {
            Issue.record("not recognised")
            return
        }
        #expect(error.code == .protocolMismatch && !error.isTransient)
        #expect(engine.isEstablished == false)
        var output = ByteQueue()
        engine.drain(into: &output)
        #expect(engine.wantsDisconnect == true)
    }

    @Test("Heartbeats keep an idle connection open for an hour, and two missing ones end it")
    func heartbeats() throws {
        let pair = Pair(.publisher)
        pair.advance(by: .seconds(3600))
        #expect(pair.engine.isOpen == true && pair.server.heartbeatsReceived == 480)
        try #require(pair.network.links.first).isFrozen = true
        pair.advance(by: .seconds(22))
        #expect(pair.engine.isOpen == true)
        pair.advance(by: .seconds(9))
        let error = try #require(pair.takeError())
        #expect(error.code == .heartbeatTimeout && error.isTransient)
    }

    @Test(
        "A stopped broker is a transient failure, an operator's mistake is not",
        arguments: [(320, true), (405, true), (506, true), (530, false), (541, true), (501, false)])
    func closeCodes(code: Int, isTransient: Bool) throws {
        let pair = Pair(.publisher)
        pair.server.closeConnection(code: UInt16(code), text: "because")
        pair.settle()
        let error = try #require(pair.takeError())
        #expect(error.replyCode == UInt16(code) && error.isTransient == isTransient)
        #expect(error.message.contains("because"))
    }
}
