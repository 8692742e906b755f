import AMQP
import Core
import Decoding

/// A message as one line of JSON that preserves every byte.
///
/// The properties, with the headers, stand in it as AMQP encodes them. The other members are for readers of the file.
struct ArchivedMessage: Sendable, Equatable {
    /// Encoded; they can be decoded completely.
    let properties: [UInt8]
    let body: [UInt8]

    init(line: ArraySlice<UInt8>) throws(Complaint) {
        guard let object = try? JSONPart(line), object.kind == .object else {
            throw Complaint("the line: expected a JSON object")
        }
        properties = try Self.bytes("properties", of: object)
        body = try Self.bytes("body", of: object)
        // They came in one frame. librabbitmq needs stack for each level of nested headers.
        guard properties.count <= Int(AMQPConfiguration.frameMax) else {
            throw Complaint("properties: more than \(AMQPConfiguration.frameMax) bytes")
        }
        do throws(AMQPError) {
            _ = try MessageProperties(decoding: properties[...])
        } catch {
            throw Complaint("properties: \(error.message)")
        }
    }

    private static func bytes(_ name: String, of object: JSONPart) throws(Complaint) -> [UInt8] {
        guard let member = object[name] else { throw Complaint("the line: expected \"\(name)\"") }
        guard let text = member.text, let bytes = Base64.standard.decode(text.span) else {
            throw Complaint("\(name): expected base64")
        }
        return bytes
    }

    /// The line of a message in a dead-letter queue, without a newline.
    ///
    /// - Throws: if the properties cannot be decoded completely, for example because headers are nested too deeply.
    static func line(_ delivery: Delivery, from queue: String) throws(AMQPError) -> [UInt8] {
        let properties = try MessageProperties(decoding: delivery.rawProperties)
        let members: [(String, JSONOutput)] = [
            ("queue", .text(queue)), ("exchange", .bytes(delivery.exchange)),
            ("routing-key", .bytes(delivery.routingKey)), ("message-id", .bytes(properties.messageID?[...])),
            ("headers", properties.headers.map { JSONOutput(.table($0)) } ?? .null),
            ("properties", .text(Base64.standard.encode(Array(delivery.rawProperties)))),
            ("body", .text(Base64.standard.encode(Array(delivery.body)))),
        ]
        return Array(JSONOutput.object(members).description.utf8)
    }

    /// The message as a broker would deliver it; only its properties contain its headers.
    var delivery: Delivery {
        var layout = Delivery.Layout()
        var storage = properties + body
        layout.rawProperties = Delivery.Field(0..<properties.count)
        layout.body = Delivery.Field(properties.count..<storage.count)
        if let messageID = try? MessageProperties(decoding: properties[...]).messageID {
            layout.messageID = Delivery.Field(storage.count..<storage.count + messageID.count)
            storage += messageID
        }
        return Delivery(epoch: 0, tag: 0, redelivered: false, queue: QueueID(0), storage: storage, layout: layout)
    }
}
