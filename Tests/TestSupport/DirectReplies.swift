import Core

/// Names of direct replies, as RabbitMQ and others make them.
package enum DirectReplies {
    package static let prefix = "amq.rabbitmq.reply-to."

    /// - Parameters:
    ///   - node: of the requester's channel, as RabbitMQ shortens it.
    ///   - number: of the channel's process on its node.
    package static func name(node: String, number: UInt32 = 689, key: String = "AAAAAAAAAAAAAAAAAAAAAA==") -> String {
        var identifier: [UInt8] = [131, 88, 118, 0, UInt8(node.utf8.count)] + Array(node.utf8)
        for value in [number, 0, 0x6B04_AD49] {
            for shift in [24, 16, 8, 0] as [UInt32] { identifier.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return prefix + Base64.standard.encode(identifier) + "." + key
    }

    /// No broker makes these; RabbitMQ 3.10 closes the connection over the first five.
    package static let malformed: [String] =
        ["abc000.def", "x", "g2dkABByZXBseUAxMjcuMC4wLjE=.AAAA", ".", "g1h2.AAAA"].map { prefix + $0 }
        + [
            name(node: "reply@1") + ".x", name(node: ""), name(node: "reply@1", key: ""), "amq.rabbitmq.reply-to",
            prefix,
        ]
}
