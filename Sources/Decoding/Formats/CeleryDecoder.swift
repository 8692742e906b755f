package import Core

/// `celery`: the arguments of a task. The configuration names the task and the argument.
///
/// Protocol 2 has the task in headers and `[args, kwargs, embed]` as the body; protocol 1 has both in the body.
/// Source: Celery, "Message Protocol".
package struct CeleryDecoder: RefusingDecoder {
    package struct Options: Equatable, Sendable {
        package var tasks: [Task] = []
        /// Whether messages of other tasks are ignored instead of rejected.
        package var ignoresOthers = false

        package init() {}
    }

    /// A task whose messages are requests.
    package struct Task: Equatable, Sendable {
        package let name: String
        /// The name of the decoder of the value.
        package let decoder: String
        /// Begins with `/args` or `/kwargs`.
        let pointer: JSONPointer
        let place: String

        package init(_ name: String, at place: String, decoder: String) throws(InvalidOption) {
            let isBelow = ["/args", "/kwargs"].contains { place == $0 || place.hasPrefix($0 + "/") }
            guard let pointer = JSONPointer(place), isBelow else {
                throw InvalidOption(message: "expected a JSON pointer below /args or /kwargs")
            }
            self.name = name
            self.decoder = decoder
            self.pointer = pointer
            self.place = place
        }
    }

    package let name = "celery"
    private let options: Options
    /// The decoders of the tasks' values, in their order.
    private let inner: [any Decoder]

    init(_ options: Options, _ inner: [any Decoder]) {
        self.options = options
        self.inner = inner
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        try Self.checkSerialization(delivery)
        let message = try CeleryMessage(delivery)
        guard let index = options.tasks.firstIndex(where: { $0.name.utf8.elementsEqual(message.task) }) else {
            return options.ignoresOthers
                ? .ignore(reason: "another task") : .reject(DecodingFailure("task: not a configured task"))
        }
        let task = options.tasks[index]
        if let eta = message.eta, eta > now { return .later(.milliseconds(eta.milliseconds - now.milliseconds)) }
        guard let part = message.find(task.pointer) else {
            throw DecodingFailure("\(task.place) is missing in the task's arguments")
        }
        let argument: Delivery
        if part.kind == .string {
            guard let text = part.text else { throw DecodingFailure("\(task.place): half of a surrogate pair") }
            argument = delivery.inner(unwrapped: text)
        } else {
            argument = delivery.inner(part.value.range)
        }
        let decoded = inner[index].decode(argument, at: now)
        guard case .request(var request) = decoded else { return decoded }
        if request.key == nil { request.key = message.id }
        if let expires = message.expires { request.limit(to: expires) }
        return .request(request)
    }

    /// Rejects pickle, because unpickling executes code.
    private static func checkSerialization(_ delivery: Delivery) throws(DecodingFailure) {
        if let type = delivery.contentType, !type.isEmpty, !ContentType(type).isJSON {
            throw DecodingFailure("content-type: expected application/json: set task_serializer to json")
        }
        if case .text(let compression) = delivery.header("compression"), !compression.isEmpty {
            throw DecodingFailure("compression: expected none")
        }
    }
}

/// The fields of a task message, in either protocol.
private struct CeleryMessage {
    let task: ArraySlice<UInt8>
    let id: ArraySlice<UInt8>?
    let eta: WallTime?
    let expires: WallTime?
    private let args: JSONPart?
    private let kwargs: JSONPart?

    init(_ delivery: Delivery) throws(DecodingFailure) {
        let body = try JSONPart(delivery.body, called: "body")
        if case .text(let task)? = delivery.header("task") {
            guard body.kind == .array else {
                throw DecodingFailure("body: expected [args, kwargs, embed], found \(body.kind.name)")
            }
            let elements = body.elements
            guard elements.count == 3 else {
                throw DecodingFailure("body: expected [args, kwargs, embed], found \(elements.count) elements")
            }
            self.task = task
            id = Self.text(delivery.header("id"))
            eta = try Self.time(Self.text(delivery.header("eta")), "eta")
            expires = try Self.time(Self.text(delivery.header("expires")), "expires")
            args = elements[0]
            kwargs = elements[1]
        } else {
            guard body.kind == .object else {
                throw DecodingFailure("task: missing in the headers, and the body is \(body.kind.name)")
            }
            let members = JSONMembers(body)
            guard let task = members["task"]?.text else { throw DecodingFailure("task: missing, expected its name") }
            self.task = task
            id = members["id"]?.text
            eta = try Self.time(members["eta"]?.text, "eta")
            expires = try Self.time(members["expires"]?.text, "expires")
            args = members["args"]
            kwargs = members["kwargs"]
        }
    }

    func find(_ pointer: JSONPointer) -> JSONPart? {
        switch pointer.first {
        case Array("args".utf8): args.flatMap(pointer.rest.find)
        case Array("kwargs".utf8): kwargs.flatMap(pointer.rest.find)
        default: nil
        }
    }

    private static func text(_ header: Delivery.HeaderValue?) -> ArraySlice<UInt8>? {
        if case .text(let text) = header { text } else { nil }
    }

    /// ISO 8601 as Python writes it. Without an offset it is UTC (`enable_utc`, Celery's default).
    private static func time(_ text: ArraySlice<UInt8>?, _ name: String) throws(DecodingFailure) -> WallTime? {
        guard let text else { return nil }
        guard let time = WallTime(rfc3339: text) ?? WallTime(rfc3339: Array(text) + [UInt8(ascii: "Z")]) else {
            throw DecodingFailure("\(name): expected a date and time in ISO 8601")
        }
        return time
    }
}

extension Request {
    /// Limits the expiration of all notifications.
    mutating func limit(to time: WallTime) {
        var limited: (from: Notification.Content, to: Notification.Content)?
        for index in notifications.indices {
            let content = notifications[index].content
            // An earlier expiration is kept, also 0, which means a single attempt.
            if let own = content.expiration, own <= time.seconds { continue }
            if limited?.from !== content { limited = (content, content.expiring(at: max(1, time.seconds))) }
            notifications[index] = Notification(target: notifications[index].target, limited!.to)
        }
    }
}
