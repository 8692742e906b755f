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
            switch DecoderFormat(rawValue: decoder) {
            case .auto, .apnsHeaders: self = .headers
            case .apnsJSON: self = .envelope
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
            properties.headers = FieldTable(
                fields.map { FieldTable.Entry(name: Array($0.name.description.utf8), value: $0.value.field) })
            body = payload
        case .envelope:
            properties.contentType = Array("application/vnd.harebell.request+json".utf8)
            body = envelope
        }
        return Publication(routingKey: ArraySlice(queue.utf8), properties: properties, body: body[...])
    }

    /// Contains the payload byte for byte.
    private var envelope: [UInt8] {
        let members = fields.map { ($0.name.description, JSONOutput($0.value.field)) }
        let json = JSONOutput.object(members).description
        return json.utf8.dropLast() + Array(",\"payload\":".utf8) + payload + Array("}".utf8)
    }
}

extension OneOffDelivery.HeaderValue {
    fileprivate var field: FieldValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let integer): .int64(integer)
        case .boolean(let boolean): .boolean(boolean)
        }
    }
}

/// The result of an operator's request.
struct OneOffResult: Sendable {
    let outcome: Outcome
    let json: [UInt8]
    /// A table of the members that have a value.
    let lines: [String]

    /// - Returns: `nil` if this is not a result.
    init?(json: ArraySlice<UInt8>) {
        guard let part = try? JSONPart(json) else { return nil }
        // With `results.per: request` the result is an array with one element.
        let result = part.kind == .array ? part.elements.first ?? part : part
        guard let name = result["outcome"]?.text, let outcome = Outcome.allCases.first(where: { name.equals($0.name) })
        else { return nil }
        self.outcome = outcome
        self.json = Array(result.raw)
        var table = TextTable()
        for (key, value) in result.members where ![.null, .array, .object].contains(value.kind) {
            table.add([key, value.text ?? value.raw].map { String(decoding: $0, as: UTF8.self) })
        }
        lines = table.lines
    }
}

extension RequestRun {
    /// One request from an operator through a queue.
    ///
    /// - Parameter onResult: gets the result from a worker.
    convenience init(
        _ request: OneOffRequest, _ form: OneOffRequest.Form, _ settings: Settings, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection, onResult: @escaping (OneOffResult) -> Void
    ) rethrows {
        try self.init(settings, at: now, connect: connect) {
            request.publication(to: settings.queue, replyTo: $1, form)
        } index: { delivery in
            guard delivery.correlationID?.elementsEqual(request.id) == true,
                let result = OneOffResult(json: delivery.body)
            else { return nil }
            onResult(result)
            return 0
        }
    }

    /// Why that request has no result.
    var complaint: String {
        switch end {
        case .timedOut where areQueued:
            "no result came in time: the request is in queue \"\(settings.queue)\" or with a worker, and will be sent"
        case .timedOut(let cause) where ledger.published == 0 || isRefused:
            "the request was not queued in time: \(cause)"
        case .timedOut(let cause): "the broker has not confirmed the request, and may still queue it: \(cause)"
        case .failed(let message): message
        case .complete, .stopped, nil: "stopped"
        }
    }
}
