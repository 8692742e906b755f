import Core
import Settings

/// `celery`: the arguments of a task. The configuration names the task and the argument.
///
/// Protocol 2 has the task in headers and `[args, kwargs, embed]` as the body; protocol 1 has both in the body.
/// Source: Celery, "Message Protocol".
struct CeleryDecoder: RefusingDecoder {
    /// A task whose messages are requests.
    private struct Task: Sendable {
        let name: String
        /// Begins with `/args` or `/kwargs`.
        let pointer: JSONPointer
        let place: String
        let inner: any Decoder
    }

    let name = "celery"
    private let tasks: [Task]
    private let ignoresOthers: Bool

    static let format = DecoderFormat(
        "celery", version: "1.0.0", "Celery tasks in JSON, with the place of the request in their arguments.",
        [
            Setting("tasks", .sections(count: 1...64), default: nil, "The tasks that contain requests."),
            Setting("tasks[].name", .text(bytes: 1...255), default: nil, "The task's name in Celery."),
            Setting(
                "tasks[].pointer", .text(bytes: 1...1024), default: "/kwargs",
                "A JSON pointer to the request: below /args or /kwargs."),
            Setting("tasks[].decoder", .text(bytes: 1...64), default: "apns-json", "The decoder of this value."),
            Setting(
                "other_tasks", .choice(["reject", "ignore"]), default: "reject",
                "What happens to messages of other tasks."),
        ]
    ) { options in CeleryDecoder(&options) }

    private init(_ options: inout DecoderOptions) {
        var tasks: [Task] = []
        if options.values.count("tasks") == 0 { options.report("tasks", "expected the tasks that are requests") }
        for index in 0..<options.values.count("tasks") {
            let path = "tasks[\(index)]"
            let place = options.text("\(path).pointer") ?? ""
            let isBelow = ["/args", "/kwargs"].contains { place == $0 || place.hasPrefix($0 + "/") }
            guard let pointer = JSONPointer(place), isBelow else {
                options.report("\(path).pointer", "expected a JSON pointer below /args or /kwargs")
                continue
            }
            let name = options.text("\(path).name") ?? ""
            if tasks.contains(where: { $0.name == name }) {
                options.report("\(path).name", "\"\(name)\" is already listed")
            }
            tasks.append(
                Task(name: name, pointer: pointer, place: place, inner: options.decoder("\(path).decoder")))
        }
        self.tasks = tasks
        ignoresOthers = options.text("other_tasks") == "ignore"
    }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        try Self.checkSerialization(delivery)
        let message = try CeleryMessage(delivery)
        guard let task = tasks.first(where: { $0.name.utf8.elementsEqual(message.task) }) else {
            return ignoresOthers
                ? .ignore(reason: "another task") : .reject(DecodingFailure("task: not a configured task"))
        }
        if let eta = message.eta, eta > now { return .later(.milliseconds(eta.milliseconds - now.milliseconds)) }
        guard let part = message.find(task.pointer) else {
            throw DecodingFailure("\(task.place) is missing in the task's arguments")
        }
        let inner: Delivery
        if part.kind == .string {
            guard let text = part.text else { throw DecodingFailure("\(task.place): half of a surrogate pair") }
            inner = delivery.inner(unwrapped: text)
        } else {
            inner = delivery.inner(part.value.range)
        }
        let decoded = task.inner.decode(inner, at: now)
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
