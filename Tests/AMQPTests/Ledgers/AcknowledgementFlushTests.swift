import Core
import TestSupport
import Testing

@testable import AMQP

@Suite("AcknowledgementFlush")
struct AcknowledgementFlushTests {
    private typealias Setup = ConnectionTests.Setup

    /// Two queues, whose consumers are cancelled; two messages of the first one are held.
    private func stopped() throws -> Setup {
        let setup = Setup(.consumer(["a", "b"].map { ConsumerQueue(name: $0, prefetch: 5) }))
        for queue in ["a", "b"] { setup.broker.declare(queue) }
        for number: UInt8 in 1...2 { try setup.broker.put([number], into: "a") }
        setup.start()
        setup.connection.cancelConsumers(at: setup.network.now)
        setup.settle()
        _ = setup.takeEvents()
        return setup
    }

    @Test(
        "A flush sends the acks that wait, then ends when each open queue has confirmed a new consumer and its end",
        arguments: [false, true])
    func flush(isOneClosed: Bool) throws {
        let setup = try stopped()
        setup.broker.putsAcksAside = true
        for number: UInt8 in 3...4 { try setup.broker.put([number], into: "a") }
        setup.connection.ack(epoch: 1, tag: 1, at: setup.network.now)
        var flush = AcknowledgementFlush([0, 1], on: setup.connection, at: setup.network.now)
        if isOneClosed { setup.broker.engines.first?.closeChannel(2, code: 541, text: "INTERNAL_ERROR") }
        for isLast in [false, true] {
            setup.settle()
            for event in setup.takeEvents() { flush.took(event, on: setup.connection, at: setup.network.now) }
            #expect(flush.isOver == isLast)
        }
        #expect(setup.broker.queues["a"]?.consumerCount == 0 && setup.broker.unsettledCount == 2)
    }

    @Test("A flush registers consumers on its queues only")
    func flushOfOne() throws {
        let setup = try stopped()
        try setup.broker.put([1], into: "b")
        var flush = AcknowledgementFlush([0], on: setup.connection, at: setup.network.now)
        while !flush.isOver {
            setup.settle()
            let events = setup.takeEvents()
            guard !events.isEmpty else { break }
            for event in events {
                if case .engine(.consuming(let queue)) = event { #expect(queue == 0) }
                flush.took(event, on: setup.connection, at: setup.network.now)
            }
        }
        #expect(flush.isOver)
        #expect(setup.takeDeliveries().isEmpty)
    }

    @Test("A flush does not register a consumer whose channel opens again meanwhile")
    func reopened() throws {
        let setup = try stopped()
        setup.broker.engines.first?.closeChannel(2, code: 541, text: "INTERNAL_ERROR")
        setup.settle()
        _ = AcknowledgementFlush([0], on: setup.connection, at: setup.network.now)
        setup.advance(by: .seconds(3))
        #expect(setup.broker.queues["a"]?.consumerCount == 1 && setup.broker.queues["b"]?.consumerCount == 0)
    }
}
