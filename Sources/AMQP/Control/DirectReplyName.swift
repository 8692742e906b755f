import Core

/// The routing key of a direct reply: `amq.rabbitmq.reply-to.<requester>.<key>`. `<requester>` is the Base64 text of
/// the Erlang process identifier of the requester's channel.
///
/// RabbitMQ 3.10 closes the publishing connection (541) for a requester that it cannot decode, and for one on an
/// unknown node. Only the first can be detected here.
/// Sources: rabbitmq.com/docs/direct-reply-to, erlang.org/doc/apps/erts/erl_ext_dist.html (NEW_PID_EXT, PID_EXT).
package enum DirectReplyName {
    /// The prefix of every such name, well formed or not.
    package static let prefix = "amq.rabbitmq.reply-to"

    package static func isPrefix(of routingKey: borrowing ArraySlice<UInt8>) -> Bool {
        routingKey.count >= prefix.utf8.count && routingKey.starts(with: prefix.utf8)
    }

    /// Whether a broker can have generated a name.
    package static func isWellFormed(_ routingKey: ArraySlice<UInt8>) -> Bool {
        guard routingKey.starts(with: "\(prefix).".utf8) else { return false }
        let parts = String(decoding: routingKey.dropFirst(prefix.utf8.count + 1), as: UTF8.self).split(
            separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let identifier = Base64.standard.decode(parts[0]),
            let key = Base64.standard.decode(parts[1])
        else { return false }
        return !key.isEmpty && isProcessIdentifier(identifier)
    }

    private static func isProcessIdentifier(_ bytes: [UInt8]) -> Bool {
        let version: UInt8 = 131
        guard bytes.count > 4, bytes[0] == version else { return false }
        // Bytes after the number and the serial, which have four bytes each.
        let creation: Int
        switch bytes[1] {
        case 88: creation = 4
        case 103: creation = 1
        default: return false
        }
        let nameStart: Int
        let nameLength: Int
        switch bytes[2] {
        case 100, 118:
            nameStart = 5
            nameLength = Int(bytes[3]) << 8 | Int(bytes[4])
        case 115, 119:
            nameStart = 4
            nameLength = Int(bytes[3])
        default: return false
        }
        return nameLength > 0 && bytes.count == nameStart + nameLength + 8 + creation
    }
}
