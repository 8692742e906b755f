package import Core

/// `celery`: the arguments of a task. The configuration names the task and the argument.
///
/// Protocol 2 has the task in headers and `[args, kwargs, embed]` as the body; protocol 1 has both in the body.
/// Source: Celery, "Message Protocol".
package struct CeleryDecoder: RefusingDecoder {
    package struct Options: Equatable, Sendable {
        package var tasks: [Task] = []
        /// Whether results go to `reply_to`. Celery sets it in every task, whatever its result backend is.
        package var usesReplyTo = false

        package init() {}
    }

    package struct Task: Equatable, Sendable {
        package let name: String
        package let decoder: String
        /// Of the arguments in the body: 0 for `/args`, 1 for `/kwargs`.
        let index: Int
        /// In these arguments.
        let pointer: JSONPointer
        /// As written in the configuration.
        let place: String

        package init(_ name: String, at place: String, decoder: String) throws(Complaint) {
            let roots = ["/args", "/kwargs"]
            guard let index = roots.firstIndex(where: { place == $0 || place.hasPrefix($0 + "/") }),
                let pointer = JSONPointer(String(place.dropFirst(roots[index].count)))
            else {
                throw Complaint("expected a JSON pointer below /args or /kwargs")
            }
            self.name = name
            self.decoder = decoder
            self.index = index
            self.pointer = pointer
            self.place = place
        }
    }

    package var usesReplyTo: Bool { options.usesReplyTo }
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
        return message.findings.joined(to: decoded(message, of: delivery, at: now), key: message.id)
    }

    private func decoded(_ message: CeleryMessage, of delivery: Delivery, at now: WallTime) -> Decoded {
        guard let index = options.tasks.firstIndex(where: { $0.name.utf8.elementsEqual(message.task) }) else {
            let names = options.tasks.map(\.name)
            let hint = Suggestion.closest(to: String(decoding: message.task, as: UTF8.self), among: names)
            let question = Suggestion.question(hint).map { "; \($0)" } ?? ""
            let name = RequestFields.quoted(message.task)
            return .reject(DecodingFailure("task: \(name) is not a configured task\(question)"))
        }
        let task = options.tasks[index]
        if message.findings.isEmpty, let eta = message.eta, eta > now {
            return .later(.milliseconds(eta.milliseconds - now.milliseconds))
        }
        guard let part = message.arguments[task.index].flatMap(task.pointer.find) else {
            return .reject(DecodingFailure("\(task.place): missing in the task's arguments\(message.hint(task.index))"))
        }
        guard let argument = part.kind == .string ? part.text : part.raw else {
            return .reject(DecodingFailure("\(task.place): half of a surrogate pair"))
        }
        let decoded = inner[index].decode(delivery.inner(argument), at: now)
        guard case .request(var request) = decoded else { return decoded }
        // The notifications of a fan-out share one payload.
        var checked: ArraySlice<UInt8>?
        for notification in request.notifications where notification.payload != checked {
            checked = notification.payload
            guard let path = KombuValue.path(in: notification.payload) else { continue }
            return .reject(request.failure("payload\(path): \(KombuValue.complaint)"))
        }
        if let expires = message.expires { request.limit(to: expires, at: now) }
        return .request(request)
    }

    /// Rejects pickle, because unpickling executes code.
    private static func checkSerialization(_ delivery: Delivery) throws(DecodingFailure) {
        if let type = delivery.contentType, ContentType(type).isForeign {
            throw DecodingFailure(
                "content-type: \(RequestFields.quoted(type)) is not application/json; set task_serializer to json")
        }
        if case .text(let compression) = delivery.header("compression"), !compression.isEmpty {
            throw DecodingFailure(
                "compression: \(RequestFields.quoted(compression)) is not supported; leave out task_compression")
        }
    }
}

private struct CeleryMessage {
    let task: ArraySlice<UInt8>
    let id: ArraySlice<UInt8>?
    let eta: WallTime?
    let expires: WallTime?
    let arguments: [JSONPart?]
    /// What is wrong with its times.
    private(set) var findings = RequestFields.Findings()

    init(_ delivery: Delivery) throws(DecodingFailure) {
        let body = try JSONPart(delivery.body, called: "body")
        let field: (StaticString) -> RequestFields.Value
        let isUTC: Bool
        if delivery.header("task") != nil {
            let elements = body.elements
            guard elements.count == 3 else {
                let found = body.kind == .array ? "\(elements.count) elements" : "\(body.kind.name)"
                throw DecodingFailure("body: expected [args, kwargs, embed], found \(found)")
            }
            arguments = elements
            isUTC = delivery.header("utc") != .boolean(false)
            // Celery writes None, which is a value of another type.
            field = { name in
                delivery.header(name).map { $0 == .other ? .missing : RequestFields.Value($0) } ?? .missing
            }
        } else {
            guard body.kind == .object else {
                throw DecodingFailure("task: missing in the headers, and the body is \(body.kind.name)")
            }
            let members = body.members
            arguments = [members["args"], members["kwargs"]]
            isUTC = members["utc"].map { !$0.raw.equals("false") } ?? true
            field = { name in members[name].map { RequestFields.Value($0.value, in: $0.document) } ?? .missing }
        }
        guard case .text(let task) = field("task") else {
            throw DecodingFailure("task: missing in the headers and in the body")
        }
        self.task = task
        if case .text(let text) = field("id") { id = text } else { id = nil }
        eta = Self.time(field("eta"), "eta", isUTC: isUTC, &findings)
        expires = Self.time(field("expires"), "expires", isUTC: isUTC, &findings)
    }

    /// What the task has where its arguments are not expected.
    func hint(_ index: Int) -> String {
        if index == 1, let count = arguments[0]?.elements.count, count > 0 {
            return "; it has \(count) in /args, such as /args/0"
        }
        let keyword = index == 0 ? arguments[1]?.members.first?.key : nil
        return keyword.map { "; it has arguments in /kwargs, such as /kwargs/\(RequestFields.shortened($0))" } ?? ""
    }

    /// A date in ISO 8601 as Python writes it, or seconds since 1970. Without an offset it is UTC (`enable_utc`,
    /// Celery's default).
    ///
    /// - Parameter isUTC: whether a time without an offset is UTC; otherwise nothing says what it is.
    private static func time(
        _ value: RequestFields.Value, _ name: StaticString, isUTC: Bool, _ findings: inout RequestFields.Findings
    ) -> WallTime? {
        var complaint = "expected a date and time in ISO 8601, or seconds since 1970"
        switch value {
        case .missing: return nil
        case .integer(let seconds) where 1_000_000_000...99_999_999_999 ~= seconds:
            return WallTime(milliseconds: seconds * 1000)
        case .text(let text):
            if let time = WallTime(rfc3339: text) { return time }
            guard let time = WallTime(rfc3339: text + [UInt8(ascii: "Z")]) else { break }
            if isUTC { return time }
            complaint = "it has no offset, and utc is false, so its time is not known; set enable_utc or a timezone"
        default: break
        }
        findings.add(DecodingFailure("\(name): \(complaint)"))
        return nil
    }
}

extension Request {
    mutating func limit(to time: WallTime, at now: WallTime) {
        var limited: (from: Notification.Content, to: Notification.Content)?
        for index in notifications.indices {
            let content = notifications[index].content
            // An earlier expiration is kept, also 0, which means a single attempt, until the time has passed.
            if let own = content.expiration, own <= time.seconds, own > 0 || now.seconds <= time.seconds { continue }
            if limited?.from !== content { limited = (content, content.expiring(at: max(1, time.seconds))) }
            notifications[index] = Notification(target: notifications[index].target, limited!.to)
        }
    }
}
