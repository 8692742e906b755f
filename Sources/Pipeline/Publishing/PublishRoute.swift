package import AMQP
package import Configuration

/// The destination of a publish.
package struct PublishRoute: Sendable {
    /// Empty for the default exchange.
    package var exchange: ArraySlice<UInt8>
    package var routingKey: ArraySlice<UInt8>

    package init(exchange: ArraySlice<UInt8>, routingKey: ArraySlice<UInt8>) {
        self.exchange = exchange
        self.routingKey = routingKey
    }

    package init(_ route: Configuration.Route) {
        self.init(exchange: ArraySlice(route.exchange.utf8), routingKey: ArraySlice(route.routingKey.utf8))
    }
}

extension Publication {
    /// The same message for a queue, which has to exist.
    package func rerouted(to route: PublishRoute) -> Publication {
        var publication = self
        publication.exchange = route.exchange
        publication.routingKey = route.routingKey
        publication.mandatory = true
        return publication
    }
}
