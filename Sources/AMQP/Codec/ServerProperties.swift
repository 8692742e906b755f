import CRabbitMQ

package struct ServerProperties: Sendable, Equatable {
    package var product = ""
    package var version = ""

    package init(product: String = "", version: String = "") {
        self.product = product
        self.version = version
    }

    init(_ table: amqp_table_t) {
        for index in unsafe 0..<Int(table.num_entries) {
            let entry = unsafe table.entries[index]
            guard unsafe entry.value.kind == UInt8(ascii: "S") else { continue }
            switch unsafe entry.key.text {
            case "product": product = unsafe entry.value.value.bytes.text
            case "version": version = unsafe entry.value.value.bytes.text
            default: break
            }
        }
    }
}
