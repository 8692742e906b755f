import Core
import TestSupport
import Testing

@testable import AMQP

/// What has been lost, regained and lost again.
@Suite("Recovery")
struct RecoveryTests {
    private typealias Setup = ConnectionTests.Setup

    private func consumer(_ queues: String..., prefetch: UInt16 = 1) -> Setup {
        Setup(.consumer(queues.map { ConsumerQueue(name: $0, prefetch: prefetch) }))
    }

    // MARK: Settings

    @Test("A changed prefetch counts at once, and in the next epochs too")
    func prefetch() throws {
        let setup = consumer("work")
        for number: UInt8 in 0..<20 { try setup.broker.put([number], into: "work") }
        setup.start()
        #expect(setup.takeDeliveries().count == 1)
        for prefetch: UInt16 in [8, 3] {
            setup.connection.setPrefetch(prefetch, queue: 0, at: setup.network.now)
            setup.settle()
            #expect(setup.takeDeliveries().count == Int(prefetch))
            setup.network.cut(try #require(setup.network.links.first))
            setup.settle()
            _ = setup.takeEvents()
            setup.advance(by: .seconds(3))
            #expect(setup.takeDeliveries().count == Int(prefetch))
        }
    }

    @Test("A password replaced during the first attempt is used for the broker that is tried next")
    func password() {
        let setup = Setup(.publisher, hosts: ["a", "b"])
        setup.broker.users["guest"] = "next"
        setup.network.latency = .milliseconds(100)
        setup.start()
        setup.advance(by: .milliseconds(50))
        setup.connection.setPassword("next", expires: false, at: setup.network.now)
        setup.advance(by: .seconds(2))
        #expect(setup.connection.isOpen && setup.network.attempts == 2)
    }

    @Test("A password that arrives during an attempt with the old one is tried at once after it")
    func passwordDuringAttempt() {
        let setup = Setup(.publisher)
        setup.network.latency = .milliseconds(100)
        setup.broker.users["guest"] = "next"
        setup.start()
        // The pauses have become long; then until an attempt is under way.
        setup.advance(by: .seconds(300))
        while setup.connection.nextDeadline != nil { setup.advance(by: .milliseconds(100)) }
        setup.connection.setPassword("next", expires: false, at: setup.network.now)
        setup.advance(by: .seconds(2))
        #expect(setup.connection.isOpen)
    }

    // MARK: Delays

    @Test("The delay before a channel is reopened starts small each time that its queue was consumed", arguments: 1...2)
    func consumerDelay(rounds: Int) {
        let setup = consumer("work")
        setup.start()
        for _ in 0..<rounds {
            // Refused after 2, 4, 8 and 16 s.
            setup.advance(by: .seconds(60))
            setup.broker.declare("work")
            setup.advance(by: .seconds(31))
            #expect(setup.broker.queues["work"]?.consumerCount == 1)
            setup.broker.engines.first?.closeChannel(1, code: 541, text: "INTERNAL_ERROR")
            setup.settle()
            #expect(setup.broker.queues["work"]?.consumerCount == 0)
            setup.advance(by: .seconds(2))
            #expect(setup.broker.queues["work"]?.consumerCount == 1)
            setup.broker.delete("work")
        }
    }

    @Test("The backoff after refusals grows, and starts small again after a connection that lasted")
    func refusals() {
        let setup = Setup(.publisher)
        for _ in 0..<2 {
            setup.broker.users = [:]
            if setup.network.attempts == 0 { setup.start() } else { setup.broker.closeAll() }
            setup.settle()
            let before = setup.network.attempts
            setup.advance(by: .seconds(5))
            // At most 0.5, 1, 2 and 4 s; later ones up to 30 s.
            #expect(setup.network.attempts >= before + 2)
            setup.advance(by: .seconds(595))
            // Later ones are 15 s apart on average.
            #expect((25...70).contains(setup.network.attempts - before))
            setup.broker.users = ["guest": "guest"]
            setup.advance(by: .seconds(60))
            #expect(setup.connection.isOpen)
        }
    }

    @Test("Deliveries from another queue do not shorten the time until a stalled one reconnects again")
    func stalledBesideAnother() throws {
        let setup = consumer("stalled", "busy", prefetch: 5)
        setup.broker.declare("stalled").isStalled = true
        setup.broker.declare("busy")
        try setup.broker.put([1], into: "stalled")
        setup.start()
        for _ in 0..<360 {
            try setup.broker.put([2], into: "busy")
            setup.advance(by: .seconds(10))
            for delivery in setup.takeDeliveries() {
                setup.connection.ack(
                    epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, at: setup.network.now)
            }
        }
        // After 1, 2, 4, 8, 16 and 32 minutes.
        #expect((5...8).contains(setup.network.attempts), "\(setup.network.attempts) attempts in an hour")
        setup.broker.queues["stalled"]?.isStalled = false
        setup.broker.closeAll()
        setup.advance(by: .seconds(5))
        #expect(setup.takeDeliveries().contains { $0.queue == 0 })
        // The next connection has the configured limit again.
        setup.broker.closeAll()
        setup.advance(by: .seconds(5))
        setup.broker.queues["stalled"]?.isStalled = true
        try setup.broker.put([3], into: "stalled")
        let attempts = setup.network.attempts
        setup.advance(by: .seconds(100))
        #expect(setup.network.attempts == attempts + 1)
    }

    @Test("A queue that delivers again is at once watched as closely as at first, each time")
    func stalledAgain() throws {
        let setup = consumer("work", prefetch: 5)
        setup.broker.declare("work")
        setup.start()
        for round in 1...3 {
            setup.broker.queues["work"]?.isStalled = true
            try setup.broker.put([1], into: "work")
            setup.advance(by: .seconds(100))
            #expect(setup.network.attempts == round + 1)
            setup.broker.queues["work"]?.isStalled = false
            try setup.broker.put([2], into: "work")
            setup.advance(by: .seconds(5))
            let deliveries = setup.takeDeliveries()
            #expect(deliveries.count == 2)
            for delivery in deliveries {
                setup.connection.ack(epoch: delivery.epoch, tag: delivery.tag, at: setup.network.now)
            }
        }
    }

    // MARK: Message counts

    @Test("A broker that refuses message counts keeps the consumers and deliveries, or is not asked a second time")
    func refusedCounts() throws {
        let setup = consumer("work", "other", prefetch: 5)
        setup.broker.refusesCounts = true
        for queue in ["work", "other"] { try setup.broker.put([1], into: queue) }
        setup.start()
        #expect(setup.takeDeliveries().count == 2)
        for queue: QueueID in [0, 1] { setup.connection.countMessages(queue: queue, at: setup.network.now) }
        // The watch would count several times.
        setup.advance(by: .seconds(300))
        #expect(setup.connection.messages(queue: 0) == nil)
        #expect(setup.takeEvents().isEmpty)
        #expect(setup.connection.held == 2 && setup.network.attempts == 1)
        setup.broker.refusesCounts = false
        setup.broker.closeAll()
        setup.advance(by: .seconds(5))
        for queue: QueueID in [0, 1] { setup.connection.countMessages(queue: queue, at: setup.network.now) }
        setup.settle()
        #expect(setup.connection.messages(queue: 0) == 0 && setup.connection.messages(queue: 1) == 0)
        setup.broker.opensChannels = { [broker = setup.broker] channel in
            if channel == 3 { broker.closeAll(code: 530, text: "NOT_ALLOWED - maximum allowed user limit") }
            return channel < 3
        }
        setup.broker.closeAll()
        setup.advance(by: .seconds(300))
        setup.connection.inspect("third", at: setup.network.now)
        setup.settle()
        #expect(setup.connection.isOpen && setup.network.attempts == 4 && setup.broker.violations.isEmpty)
    }

    @Test("A missing queue that is not consumed is detected without effect on consumers, unless the broker refuses")
    func inspection() throws {
        let setup = consumer("work")
        setup.broker.declare("work")
        setup.start()
        _ = setup.takeEvents()
        func isMissing() -> Bool {
            setup.connection.inspect("other", at: setup.network.now)
            setup.settle()
            return setup.connection.isMissing("other")
        }
        for _ in 0..<2 {
            #expect(isMissing())
            setup.broker.declare("other")
            #expect(!isMissing())
            setup.broker.delete("other")
        }
        setup.broker.declare("other")
        setup.broker.refusesCounts = true
        #expect(!isMissing())
        setup.broker.refusesCounts = false
        setup.broker.delete("other")
        #expect(!isMissing(), "the user may not ask on this connection")
        setup.connection.inspect("third", at: setup.network.now)
        setup.settle()
        #expect(setup.connection.isMissing("third") && !setup.connection.isMissing("other"))
        #expect(setup.takeEvents().isEmpty && setup.network.attempts == 1 && setup.broker.violations.isEmpty)
        setup.broker.closeAll()
        setup.advance(by: .seconds(5))
        #expect(isMissing())
    }

    // MARK: Silence

    @Test("A channel that the broker does not reopen ends the connection in time", arguments: [true, false])
    func silentReopening(isControl: Bool) throws {
        let setup = isControl ? Setup(.control) : consumer("missing")
        setup.start()
        setup.broker.opensChannels = { _ in false }
        if isControl { setup.connection.request(.inspectQueue("missing"), at: setup.network.now) }
        if !isControl { setup.connection.inspect("other", at: setup.network.now) }
        setup.advance(by: .seconds(isControl ? 9 : 60))
        #expect(setup.network.attempts == 1)
        setup.advance(by: .seconds(3))
        #expect(setup.network.attempts > 1)
        #expect(setup.takeErrors().first?.code == (isControl ? .handshakeTimeout : .stalled))
        setup.broker.opensChannels = { _ in true }
        setup.advance(by: .seconds(15))
        // The next connection inspects queues all the same.
        if !isControl { setup.connection.inspect("other", at: setup.network.now) }
        setup.settle()
        #expect(setup.connection.isOpen && setup.connection.isMissing("other") != isControl)
    }

    @Test("A channel that the broker does not open at first ends the connection in time")
    func silentOpening() throws {
        let setup = consumer("first", "second")
        for queue in ["first", "second"] { setup.broker.declare(queue) }
        try setup.broker.put([1], into: "second")
        setup.broker.opensChannels = { $0 != 2 }
        setup.start()
        setup.advance(by: .seconds(59))
        // The delivery of the second queue shortens the time again, also for the first one.
        setup.broker.opensChannels = { $0 != 1 }
        for duration in [2, 61] {
            setup.advance(by: .seconds(duration))
            #expect(setup.takeErrors().map(\.code) == [.stalled])
        }
        setup.broker.opensChannels = { _ in true }
        setup.advance(by: .seconds(130))
        #expect(setup.broker.queues["first"]?.consumerCount == 1)
    }

    @Test("A connection whose socket is full closes all the same, and wants to be disconnected")
    func fullSocket() throws {
        for isFailing in [true, false] {
            let broker = Broker()
            broker.declare("q")
            let pair = Pair(.publisher, broker: broker)
            var agenda = Agenda()
            pair.engine.waker = agenda.waker(of: 0)
            // Nothing drains the engine from here on.
            _ = try pair.publish(pattern(100_000), to: "q")
            #expect(agenda.hasWoken == true)
            agenda.remove(0)
            if !isFailing { pair.engine.close(at: pair.now) }
            #expect(agenda.hasWoken == !isFailing)
            let next = pair.engine.nextDeadline
            let deadline = try #require(next)
            #expect(deadline <= pair.now + .seconds(isFailing ? 30 : 10))
            #expect(pair.engine.wantsDisconnect == false)
            pair.engine.expire(at: pair.now + .seconds(30))
            let isWoken = agenda.hasWoken
            #expect(pair.engine.wantsDisconnect && isWoken)
        }
    }
}
