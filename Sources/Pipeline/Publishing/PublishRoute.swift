import AMQP
package import Configuration
import Core

package struct PublishRoute: Hashable, Sendable {
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

    package func hash(into hasher: inout Hasher) {
        var hash = ContentHash()
        hash.combine(exchange.span)
        hash.combine(routingKey.span)
        hasher.combine(hash.value)
    }

    /// The queue's name on the default exchange, else exchange and routing key.
    package var name: String {
        let key = String(decoding: routingKey, as: UTF8.self)
        return exchange.isEmpty ? key : "\(String(decoding: exchange, as: UTF8.self))/\(key)"
    }

    var isDirectReply: Bool { exchange.isEmpty && DirectReplyName.isPrefix(of: routingKey) }
}
