import Core
import TestSupport
import Testing

@testable import AMQP

@Suite("Connection")
struct ConnectionTests {
    /// A connection, its network and a broker; hosts in `down` refuse connections.
    final class Setup {
        let broker = Broker()
        let network: MemoryNetwork
        let connection: AMQPConnection
        var down: Set<String> = []
        private(set) var hosts: [String] = []
        private(set) var events: [AMQPConnection.Event] = []

        init(_ role: AMQPRole, hosts: [String] = ["a"], seed: UInt64 = 1) {
            let addresses = hosts.map { BrokerAddress(endpoint: Endpoint(host: $0, port: 5672)) }
            let network = MemoryNetwork { _ in nil }
            self.network = network
            connection = AMQPConnection(
                configuration: AMQPConfiguration(address: addresses[0], role: role), addresses: addresses,
                network: network, random: SplitMix64(seed: seed))
            network.accept = { [unowned self] endpoint in
                self.hosts.append(endpoint.host)
                return down.contains(endpoint.host) ? nil : BrokerEngine(broker: broker)
            }
        }

        func start() {
            connection.start(at: network.now)
            settle()
        }

        func settle() {
            network.settle(turn)
        }

        func advance(by duration: Duration) {
            network.advance(by: duration, deadline: { self.connection.nextDeadline }, turn: turn)
        }

        private func turn() -> Bool {
            var isBusy = false
            if let due = connection.nextDeadline, due <= network.now {
                connection.expire(at: network.now)
                isBusy = true
            }
            while let event = connection.nextEvent(at: network.now) {
                events.append(event)
                isBusy = true
            }
            return isBusy
        }

        func takeEvents() -> [AMQPConnection.Event] {
            defer { events.removeAll() }
            return events
        }

        /// Whether the last of the new events is the connection's end.
        func takeEnd() -> Bool {
            if case .closed? = takeEvents().last { true } else { false }
        }

        /// The errors with which connections have ended.
        func takeErrors() -> [AMQPError] {
            takeEvents().compactMap { if case .disconnected(_, let error, _) = $0 { error } else { nil } }
        }

        func takeDeliveries() -> [Delivery] {
            takeEvents().compactMap { if case .engine(.delivery(let delivery)) = $0 { delivery } else { nil } }
        }
    }

    @Test("A broken connection reconnects in a new epoch, in which an old tag settles nothing")
    func epochs() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 5)]))
        for number: UInt8 in 0..<2 { try setup.broker.put([number], into: "work") }
        setup.start()
        let first = setup.takeDeliveries()
        #expect(first.map(\.epoch) == [1, 1])
        setup.network.cut(try #require(setup.network.links.first))
        setup.settle()
        #expect(setup.connection.epoch == 1)
        #expect(!setup.connection.ack(epoch: 1, tag: 2, at: setup.network.now), "nobody is there to hear it")
        setup.advance(by: .seconds(1))
        let second = setup.takeDeliveries()
        #expect(second.map(\.epoch) == [2, 2] && second.map(\.redelivered) == [true, true])
        #expect(!setup.connection.ack(epoch: 1, tag: 1, at: setup.network.now))
        #expect(setup.connection.ack(epoch: 2, tag: 1, at: setup.network.now))
        setup.advance(by: .seconds(1))
        #expect(setup.connection.held == 1)
        #expect(setup.broker.engines.first?.unsettledCount == 1 && setup.broker.violations.isEmpty)
    }

    @Test("Publishes are numbered across all epochs, and each ends once")
    func sequences() throws {
        let setup = Setup(.publisher)
        setup.broker.declare("q")
        setup.broker.holdsConfirms = true
        setup.start()
        let publication = Publication(routingKey: bytes("q")[...], body: [])
        #expect(try setup.connection.publish(publication) == 1)
        #expect(try setup.connection.publish(publication) == 2)
        setup.settle()
        setup.connection.replace(at: setup.network.now)
        #expect(setup.network.links.isEmpty, "closed at once")
        setup.advance(by: .seconds(1))
        #expect(try setup.connection.publish(publication) == 3)
        #expect(setup.connection.maximumProperties == 131_052, "a frame has 20 other bytes")
        setup.settle()
        setup.broker.engines.first?.releaseConfirms(1)
        setup.settle()
        let ends = setup.takeEvents().compactMap { event -> (UInt64, AMQP.Confirmation)? in
            guard case .engine(.confirmed(let sequence, let confirmation)) = event else { return nil }
            return (sequence, confirmation)
        }
        #expect(ends.map(\.0) == [1, 2, 3] && ends.map(\.1) == [.lost, .lost, .acked])
    }

    @Test("The brokers are tried in random order; when one is down, the others are tried at once in turn")
    func failover() {
        var first: Set<String> = []
        for seed: UInt64 in 0..<20 {
            let setup = Setup(.publisher, hosts: ["a", "b", "c"], seed: seed)
            setup.down = ["a", "b"]
            setup.start()
            #expect(setup.connection.isOpen && setup.hosts.last == "c")
            #expect(Set(setup.hosts).count == setup.hosts.count)
            first.insert(setup.hosts[0])
            setup.down = ["b", "c"]
            setup.broker.closeAll()
            setup.advance(by: AMQPConnection.longestPause)
            #expect(setup.connection.isOpen && setup.hosts.last == "a")
        }
        #expect(first == ["a", "b", "c"])
    }

    @Test("Reconnects back off while all brokers are down, and stop when the connection is closed")
    func backoff() {
        let setup = Setup(.publisher)
        setup.down = ["a"]
        setup.start()
        setup.advance(by: .seconds(600))
        // At most 2 s, on average 1 s, after a fast start.
        #expect((500...700).contains(setup.network.attempts), "\(setup.network.attempts) attempts")
        #expect(setup.takeErrors().allSatisfy { $0.code == .transport && $0.isTransient })
        let attempts = setup.network.attempts
        setup.connection.close(at: setup.network.now)
        setup.advance(by: .seconds(600))
        #expect(setup.network.attempts == attempts && setup.takeEnd())
    }

    @Test("A broker is used again two seconds after it is back, however long it was down")
    func comesBack() {
        for seed: UInt64 in 0..<20 {
            let setup = Setup(.publisher, seed: seed)
            setup.down = ["a"]
            setup.start()
            setup.advance(by: .seconds(600 + Int64(seed)))
            #expect(!setup.connection.isOpen)
            setup.down = []
            setup.advance(by: AMQPConnection.longestPause)
            #expect(setup.connection.isOpen)
            setup.broker.closeAll(code: 541, text: "INTERNAL_ERROR")
            setup.advance(by: .milliseconds(500))
            #expect(setup.connection.isOpen, "a publish may be the cause")
            setup.advance(by: AMQPConnection.stableAfter)
            setup.broker.closeAll()
            setup.advance(by: .milliseconds(500))
            #expect(setup.connection.isOpen, "the connection lasted")
        }
    }

    @Test("A missing queue is retried with growing backoff on one connection, and the others are consumed")
    func missingQueue() throws {
        let queues = ["missing", "work"].map { ConsumerQueue(name: $0, prefetch: 1) }
        let setup = Setup(.consumer(queues))
        for number: UInt8 in 0..<2 { try setup.broker.put([number], into: "work") }
        setup.start()
        let first = setup.takeEvents()
        var errors = first.compactMap { if case .engine(.channelClosed(0, let error)) = $0 { error } else { nil } }
        #expect(errors.first?.code == .notFound)
        let held = first.compactMap { if case .engine(.delivery(let delivery)) = $0 { delivery } else { nil } }
        #expect(held.map(\.queue) == [1])
        setup.advance(by: .seconds(895))
        for case .engine(.channelClosed(0, let error)) in setup.takeEvents() { errors.append(error) }
        // At once, after 2, 4, 8 and 16 s, then every 30 s.
        #expect(errors.count == 1 + 4 + 28)
        #expect(setup.network.attempts == 1)
        setup.broker.declare("missing")
        setup.advance(by: .seconds(31))
        #expect(setup.broker.queues["missing"]?.consumerCount == 1)
        // An old delivery of the other queue can still be settled.
        #expect(setup.connection.ack(epoch: 1, queue: 1, tag: 1, at: setup.network.now))
        setup.settle()
        #expect(setup.takeDeliveries().map { Array($0.body) } == [[1]] && setup.broker.violations.isEmpty)
    }

    @Test("A closed channel drops its queue's deliveries, and an old tag settles nothing on the next channel")
    func closedChannel() throws {
        let setup = Setup(.consumer(["a", "b"].map { ConsumerQueue(name: $0, prefetch: 5) }))
        for number: UInt8 in 0..<2 {
            try setup.broker.put([number], into: "a")
            try setup.broker.put([number], into: "b")
        }
        setup.start()
        #expect(setup.takeDeliveries().count == 4)
        setup.broker.engines.first?.closeChannel(
            1, code: 406, text: "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out")
        setup.settle()
        guard case .engine(.channelClosed(queue: 0, let error))? = setup.takeEvents().first else {
            Issue.record("not told")
            return
        }
        #expect(error.code == .consumerTimeout && error.consumerTimeout == nil && error.isTransient)
        #expect(setup.connection.held == 2)
        setup.advance(by: .seconds(2))
        let again = setup.takeDeliveries()
        #expect(again.map { [UInt8($0.queue.index)] + $0.body } == [[0, 0], [0, 1]])
        #expect(again.map(\.tag) == [3, 4])
        #expect(!setup.connection.ack(epoch: 1, queue: 0, tag: 1, at: setup.network.now))
        for tag: UInt64 in 3...4 {
            #expect(setup.connection.ack(epoch: 1, queue: 0, tag: tag, at: setup.network.now))
            #expect(setup.connection.ack(epoch: 1, queue: 1, tag: tag - 2, at: setup.network.now))
        }
        setup.settle()
        #expect(setup.broker.unsettledCount == 0 && setup.network.attempts == 1)
        #expect(setup.broker.violations.isEmpty)
    }

    @Test("A consumer without deliveries while messages are ready gets a new connection, unless the queue is empty")
    func stalled() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 5)]))
        setup.broker.declare("work")
        setup.start()
        setup.advance(by: .seconds(600))
        #expect(setup.network.attempts == 1)
        setup.broker.engines.first?.isStalled = true
        try setup.broker.put([1], into: "work")
        setup.advance(by: .seconds(59))
        #expect(setup.network.attempts == 1)
        setup.advance(by: .seconds(32))
        #expect(setup.network.attempts == 2)
        let events = setup.takeEvents()
        let errors = events.compactMap { if case .disconnected(_, let error, _) = $0 { error } else { nil } }
        #expect(errors.map(\.code) == [.stalled])
        let deliveries = events.compactMap { if case .engine(.delivery(let delivery)) = $0 { delivery } else { nil } }
        #expect(deliveries.map { Array($0.body) } == [[1]] && setup.broker.violations.isEmpty)
    }

    @Test("A consumer that got a delivery between two queue-depth checks is not stalled")
    func givenSomethingBetweenQuestions() {
        func at(_ seconds: Int) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }
        var watch = StallWatch(timeLimit: .seconds(30), at: at(0))
        func isStalled(at seconds: Int) -> Bool { watch.responded(messages: 5, at: at(seconds)) }
        #expect(watch.expire(at: at(30)) == .ask)
        // The broker sent a delivery before this reply, so the reply does not count.
        watch.delivered(at: at(31))
        #expect(!isStalled(at: 32))
        #expect(watch.expire(at: at(62)) == .ask)
        #expect(!isStalled(at: 63))
        // That reply counted as the first of two; the next delivery resets the count.
        watch.delivered(at: at(64))
        #expect(watch.expire(at: at(94)) == .ask)
        #expect(!isStalled(at: 95))
        #expect(watch.deadline == at(125))
        #expect(watch.expire(at: at(125)) == .ask)
        #expect(isStalled(at: 126))
    }

    @Test("Reconnects back off if a new connection gets no deliveries either, as behind a single active consumer")
    func behindActiveConsumer() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 1)]))
        setup.broker.declare("work")
        setup.network.accept = { [broker = setup.broker] _ in
            let engine = BrokerEngine(broker: broker)
            engine.isStalled = true
            return engine
        }
        try setup.broker.put([1], into: "work")
        setup.start()
        setup.advance(by: .seconds(6 * 3600))
        // After 1, 2, 4, 8, 16 and 32 minutes, then every hour.
        #expect((9...13).contains(setup.network.attempts), "\(setup.network.attempts) attempts")
    }

    @Test("A consumer that is not active on a single-active-consumer queue is not stalled")
    func singleActive() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 1, isSingleActive: true)]))
        setup.broker.declare("work")
        setup.start()
        setup.broker.engines.first?.isStalled = true
        try setup.broker.put([1], into: "work")
        setup.advance(by: .seconds(6 * 3600))
        #expect(setup.network.attempts == 1)
    }

    @Test("A closing connection does not reopen a queue's closed channel")
    func closingWithoutChannel() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "missing", prefetch: 1)]))
        setup.start()
        setup.advance(by: .seconds(1))
        try #require(setup.network.links.first).isFrozen = true
        setup.connection.close(at: setup.network.now)
        // The close is not answered, and the channel's reopening would be due.
        setup.advance(by: .seconds(9))
        #expect(!setup.connection.isClosed)
        setup.advance(by: .seconds(1))
        #expect(setup.connection.isClosed)
    }

    @Test("A consumer with a full prefetch is not stalled")
    func busy() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 2)]))
        for number: UInt8 in 0..<3 { try setup.broker.put([number], into: "work") }
        setup.start()
        setup.advance(by: .seconds(3600))
        #expect(setup.network.attempts == 1)
        #expect(setup.takeDeliveries().count == 2)
    }

    @Test("Paused consumers stay paused in the next epoch, and resumed ones stay resumed")
    func paused() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 5)]))
        setup.broker.declare("work")
        setup.start()
        setup.connection.cancelConsumers(at: setup.network.now)
        setup.advance(by: .seconds(100))
        for count in 0...1 {
            setup.broker.closeAll()
            setup.advance(by: .seconds(100))
            #expect(setup.broker.queues["work"]?.consumerCount == count && setup.network.attempts == count + 2)
            setup.connection.resumeConsumers(at: setup.network.now)
            setup.settle()
            #expect(setup.broker.queues["work"]?.consumerCount == 1)
        }
    }

    @Test("Closing ends at once at every step of the handshake")
    func closeEarly() {
        for steps in 0..<6 {
            let setup = Setup(.publisher)
            let server = BrokerEngine(broker: setup.broker)
            var turns = 0
            setup.network.accept = { _ in server }
            setup.connection.start(at: setup.network.now)
            setup.network.settle {
                turns += 1
                if turns == steps { setup.connection.close(at: setup.network.now) }
                return false
            }
            if steps == 0 || turns < steps { setup.connection.close(at: setup.network.now) }
            setup.settle()
            #expect(setup.takeEnd() && setup.network.links.isEmpty, "after \(steps) steps")
        }
    }

    @Test("Closing sends the due acks, requeues the rest and ends")
    func close() throws {
        let setup = Setup(.consumer([ConsumerQueue(name: "work", prefetch: 5)]))
        for number: UInt8 in 0..<3 { try setup.broker.put([number], into: "work") }
        setup.start()
        setup.connection.ack(epoch: 1, tag: 1, at: setup.network.now)
        setup.connection.ack(epoch: 1, tag: 3, at: setup.network.now)
        setup.connection.close(at: setup.network.now)
        setup.settle()
        #expect(setup.broker.messages(in: "work").map(\.body) == [[1]])
        #expect(setup.broker.engines.isEmpty && setup.broker.violations.isEmpty && setup.takeEnd())
    }
}
