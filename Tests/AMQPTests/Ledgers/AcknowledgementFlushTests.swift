import Core
import TestSupport
import Testing

@testable import AMQP

@Suite("AcknowledgementFlush")
struct AcknowledgementFlushTests {
    private typealias Setup = ConnectionTests.Setup

    /// Two queues, whose consumers are cancelled.
    private func stopped() -> Setup {
        let setup = Setup(.consumer(["a", "b"].map { ConsumerQueue(name: $0, prefetch: 5) }))
        for queue in ["a", "b"] { setup.broker.declare(queue) }
        setup.start()
        setup.connection.cancelConsumers(at: setup.network.now)
        setup.settle()
        _ = setup.takeEvents()
        return setup
    }

    @Test("A flush ends when each queue has confirmed both the new consumer and its cancellation")
    func flush() {
        let setup = stopped()
        var flush = AcknowledgementFlush([0, 1], on: setup.connection, at: setup.network.now)
        for isLast in [false, true] {
            setup.settle()
            for event in setup.takeEvents() { flush.took(event, on: setup.connection, at: setup.network.now) }
            #expect(flush.isOver == isLast)
        }
        #expect(setup.broker.queues["a"]?.consumerCount == 0)
    }

    @Test("A flush registers consumers on its queues only")
    func flushOfOne() throws {
        let setup = stopped()
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
        let setup = stopped()
        setup.broker.engines.first?.closeChannel(2, code: 541, text: "INTERNAL_ERROR")
        setup.settle()
        _ = AcknowledgementFlush([0], on: setup.connection, at: setup.network.now)
        setup.advance(by: .seconds(3))
        #expect(setup.broker.queues["a"]?.consumerCount == 1 && setup.broker.queues["b"]?.consumerCount == 0)
    }
}
