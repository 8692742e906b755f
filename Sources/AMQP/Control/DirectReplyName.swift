import Core

/// The routing key of a direct reply: `amq.rabbitmq.reply-to.<requester>.<key>`. `<requester>` is the Base64 text of
/// the Erlang process identifier of the requester's channel.
///
/// RabbitMQ 3.10 closes the publishing connection (541) for a requester that it cannot decode, and for one on an
/// unknown node. Only the first can be detected here.
/// Sources: rabbitmq.com/docs/direct-reply-to, erlang.org/doc/apps/erts/erl_ext_dist.html (NEW_PID_EXT, PID_EXT).
package struct DirectReplyName {
    /// The prefix of every such name, well formed or not.
    package static let prefix = "amq.rabbitmq.reply-to"

    /// The limit of a process identifier's number and serial that every Erlang release accepts.
    private static let numberLimit: UInt32 = 1 << 15
    private static let serialLimit: UInt32 = 1 << 13

    /// Equal for names that the broker decodes alike: if it accepts one of them, it accepts the others.
    package struct Origin: Hashable {
        fileprivate let bytes: [UInt8]
    }

    package let origin: Origin

    package static func isPrefix(of routingKey: borrowing ArraySlice<UInt8>) -> Bool {
        routingKey.count >= prefix.utf8.count && routingKey.starts(with: prefix.utf8)
    }

    /// - Returns: `nil` for a name that a broker cannot have generated.
    package init?(_ routingKey: ArraySlice<UInt8>) {
        guard routingKey.starts(with: "\(Self.prefix).".utf8) else { return nil }
        let parts = String(decoding: routingKey.dropFirst(Self.prefix.utf8.count + 1), as: UTF8.self).split(
            separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let identifier = Base64.standard.decode(parts[0]),
            let key = Base64.standard.decode(parts[1]), !key.isEmpty,
            let origin = Self.origin(identifier)
        else { return nil }
        self.origin = origin
    }

    private static func origin(_ identifier: [UInt8]) -> Origin? {
        let version: UInt8 = 131
        guard identifier.count > 4, identifier[0] == version else { return nil }
        // Bytes after the number and the serial, which have four bytes each.
        let creation: Int
        switch identifier[1] {
        case 88: creation = 4
        case 103: creation = 1
        default: return nil
        }
        let nameStart: Int
        let nameLength: Int
        switch identifier[2] {
        case 100, 118:
            nameStart = 5
            nameLength = Int(identifier[3]) << 8 | Int(identifier[4])
        case 115, 119:
            nameStart = 4
            nameLength = Int(identifier[3])
        default: return nil
        }
        let numbers = nameStart + nameLength
        guard nameLength > 0, identifier.count == numbers + 8 + creation else { return nil }
        func integer(at start: Int) -> UInt32 {
            identifier[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        let isSmall = integer(at: numbers) < numberLimit && integer(at: numbers + 4) < serialLimit
        return Origin(bytes: isSmall ? Array(identifier[..<numbers]) : identifier)
    }
}
