import CRabbitMQ

package struct ServerProperties: Sendable, Equatable {
    package var product = ""
    package var version = ""

    package init(product: String = "", version: String = "") {
        self.product = product
        self.version = version
    }

    init(_ table: amqp_table_t) {
        let table = try? unsafe FieldTable(table, depth: 1)
        if case .text(let text)? = table?["product"] { product = String(decoding: text, as: UTF8.self) }
        if case .text(let text)? = table?["version"] { version = String(decoding: text, as: UTF8.self) }
    }
}
