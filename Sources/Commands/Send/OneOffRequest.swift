import AMQP
import Core
import Decoding

/// One notification from an operator's input: Apple's header names with their values, and a payload.
///
/// It is not validated here: it becomes a request as from a queue, and a decoder reads it.
struct OneOffRequest: Sendable {
    typealias Value = OneOffDelivery.HeaderValue

    /// The form of the requests in a queue.
    enum Form: Sendable {
        /// A JSON envelope around the payload.
        case envelope
        /// The payload as the body, everything else in headers.
        case headers

        /// The form that a decoder reads; `nil` for a decoder of another format.
        init?(decoder: String) {
            switch decoder {
            case AutoDecoder().name, APNsHeadersDecoder().name: self = .headers
            case APNsJSONDecoder().name: self = .envelope
            default: return nil
            }
        }
    }

    /// The fields in output order, including `apns-id`.
    private let fields: [(name: StaticString, value: Value)]
    private let payload: [UInt8]
    /// The message id of the request and the `apns-id` of its notification.
    let id: [UInt8]

    /// - Parameters:
    ///   - id: the `apns-id`, also used as message id.
    ///   - fields: the other fields; those without a value are omitted.
    init(id: String, _ fields: [(name: StaticString, value: Value?)], payload: [UInt8]) {
        self.id = Array(id.utf8)
        self.payload = payload
        self.fields =
            [("apns-id", .text(id))] + fields.compactMap { field in field.value.map { (field.name, $0) } }
    }

    /// As a broker's delivery, in the form of headers.
    func delivery(replyTo: String) -> Delivery {
        var delivery = OneOffDelivery(body: payload)
        _ = delivery.set(property: "message-id", String(decoding: id, as: UTF8.self))
        _ = delivery.set(property: "reply-to", replyTo)
        for field in fields { delivery.add(header: field.name.description, field.value) }
        return delivery.delivery
    }

    /// For a queue whose decoder reads `form`.
    func publication(
        to queue: String, replyTo: String, _ form: Form
    ) -> Publication {
        var properties = MessageProperties()
        properties.messageID = id
        properties.replyTo = Array(replyTo.utf8)
        let body: [UInt8]
        switch form {
        case .headers:
            properties.contentType = Array("application/vnd.apple.apns+json".utf8)
            let entries = fields.map { field in
                let value: FieldValue =
                    switch field.value {
                    case .text(let text): .string(text)
                    case .integer(let integer): .int64(integer)
                    case .boolean(let boolean): .boolean(boolean)
                    }
                return FieldTable.Entry(name: Array(field.name.description.utf8), value: value)
            }
            properties.headers = FieldTable(entries)
            body = payload
        case .envelope:
            properties.contentType = Array("application/vnd.harebell.request+json".utf8)
            body = envelope
        }
        return Publication(routingKey: ArraySlice(queue.utf8), properties: properties, body: body[...])
    }

    /// Contains the payload byte for byte.
    private var envelope: [UInt8] {
        let members = fields.map { name, value in
            let json: JSONOutput =
                switch value {
                case .text(let text): .text(text)
                case .integer(let integer): .integer(Int(integer))
                case .boolean(let boolean): .boolean(boolean)
                }
            return (name.description, json)
        }
        return JSONOutput.text(of: members).utf8.dropLast() + Array(",\"payload\":".utf8) + payload + Array("}".utf8)
    }
}

/// The result of an operator's request.
struct OneOffResult: Sendable {
    let outcome: Outcome
    /// APNs' reason, if there is one.
    let reason: String?
    let json: [UInt8]

    /// The non-null scalar members of the JSON, for operators.
    var members: [(name: String, value: String)] {
        let bytes = json[...]
        var scanner = JSONScanner()
        var members: [(name: String, value: String)] = []
        func text(_ value: JSONValue) -> String? {
            let text = value.kind == .string ? bytes.text(of: value) : bytes.slice(value.range)
            return text.map { String(decoding: $0, as: UTF8.self) }
        }
        do throws(JSONFailure) {
            guard scanner.open(bytes.span, "{") else { return [] }
            var isFirst = true
            while let key = try scanner.nextKey(bytes.span, isFirst: isFirst) {
                isFirst = false
                let value = try scanner.value(bytes.span, depth: 1)
                guard ![.null, .array, .object].contains(value.kind), let name = text(key), let text = text(value)
                else { continue }
                members.append((name, text))
            }
            return members
        } catch {
            // A worker of another release, or another result format, may write JSON that this version cannot read.
            return [("result", String(decoding: json, as: UTF8.self))]
        }
    }

    /// - Parameter header: returns the text of a header of the result.
    /// - Returns: `nil` if this is not a result.
    init?(json: ArraySlice<UInt8>, header: (StaticString) -> ArraySlice<UInt8>?) {
        guard let name = header("harebell-outcome"),
            let outcome = Outcome.allCases.first(where: { name.equals($0.name) })
        else { return nil }
        self.outcome = outcome
        reason = header("harebell-reason").map { String(decoding: $0, as: UTF8.self) }
        self.json = Array(json)
    }
}
