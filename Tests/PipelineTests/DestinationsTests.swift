import AMQP
import Core
import Testing

@testable import Pipeline

@Suite("Destinations")
struct DestinationsTests {
    private static func publication(_ number: Int) -> Publication {
        Publication(routingKey: ArraySlice("reply-\(number)".utf8), body: [])
    }

    @Test("Idle destinations are forgotten, and one in use is the same object", arguments: 1...2)
    func forgetting(rounds: Int) {
        var destinations = Destinations(limit: 10)
        let used = destinations.destination(of: Self.publication(-1))
        used.publishes = 1
        for number in 0..<(rounds * 5000) {
            let destination = destinations.destination(of: Self.publication(number))
            #expect(destinations.destination(of: Self.publication(number)) === destination)
            #expect(destinations.known.count <= 256)
        }
        #expect(destinations.destination(of: Self.publication(-1)) === used)
        used.publishes = 0
        for number in 0..<300 { _ = destinations.destination(of: Self.publication(number)) }
        #expect(destinations.destination(of: Self.publication(-1)) !== used)
    }

    @Test("Exchange and routing key name a destination together")
    func names() {
        var destinations = Destinations(limit: 10)
        var publication = Self.publication(1)
        let queue = destinations.destination(of: publication)
        publication.exchange = ArraySlice("pushes".utf8)
        let exchange = destinations.destination(of: publication)
        #expect(queue !== exchange)
        #expect(queue.route.name == "reply-1" && exchange.route.name == "pushes/reply-1")
    }
}
