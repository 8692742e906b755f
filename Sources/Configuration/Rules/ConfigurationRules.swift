import AMQP
import Core
import Decoding

/// The rules between settings, which the schema of single settings cannot express.
extension ConfigurationReader {
    mutating func applyRules() {
        checkBroker()
        checkQueues()
        checkDecoders()
        checkRoutes()
        checkConnections()
        checkApps()
        checkProcess()
    }

    private mutating func checkBroker() {
        let endpoints = (0..<values.count("broker.endpoints")).map { values.text("broker.endpoints[\($0)]") }
        for (index, endpoint) in endpoints.enumerated() {
            guard let endpoint else { continue }
            do {
                let address = try BrokerAddress(endpoint)
                let isIdentified = address.usesTLS && values.text("broker.tls.certificate_file") != nil
                if address.mechanism == .external, !isIdentified {
                    error(
                        "broker.endpoints[\(index)]",
                        "auth_mechanism=external needs amqps:// and broker.tls.certificate_file")
                }
                if address.virtualHost.isEmpty {
                    warning(
                        "broker.endpoints[\(index)]",
                        "the final slash means the virtual host with the empty name: end with /%2f, or without a "
                            + "slash, for the virtual host /")
                }
            } catch {
                let hint = endpoint.contains("#") ? "; write # in a user's name or password as %23" : ""
                self.error("broker.endpoints[\(index)]", error.message + hint)
            }
        }
        let files = ["ca_file", "certificate_file", "private_key_file", "server_name"].map { "broker.tls.\($0)" }
        let given = files.filter { values.text($0) != nil }
        if let first = given.first, !endpoints.isEmpty,
            !endpoints.contains(where: { $0?.hasPrefix("amqps://") ?? true })
        {
            warning(first, "has no effect: no endpoint starts with amqps://")
        }
        checkPair(in: "broker.tls")
    }

    private var queueNames: [String] {
        (0..<values.count("queues")).compactMap { values.text("queues[\($0)].name") }
    }

    private mutating func checkQueues() {
        let names = queueNames
        var places: [String: String] = [:]
        let delays =
            (values.integers("retry.delays_seconds") ?? []) + (values.integers("retry.throttled_delays_seconds") ?? [])
        let suffix = RetryQueueName.make(for: "", delay: .seconds(delays.max() ?? 0))
        for index in 0..<values.count("queues") {
            checkPace("queues[\(index)]")
            let path = "queues[\(index)].name"
            if let name = values.text(path) {
                if let other = places.updateValue(path, forKey: name) {
                    error(path, "\"\(values.shown(path))\" is \(other) already")
                }
                if name.hasPrefix("amq.") { error(path, "names that start with amq. are reserved") }
                if names.contains(where: { RetryQueueName.matches(name.utf8, queue: $0) }) {
                    error(path, "is the name of another queue's retry queue: requests would not wait there")
                }
                if name.utf8.count + suffix.utf8.count > Setting.shortString.upperBound {
                    let limit = Setting.shortString.upperBound - suffix.utf8.count
                    error(path, "has \(name.utf8.count) bytes; with \(suffix) for its retry queue at most \(limit) fit")
                }
            }
        }
    }

    /// Requests that wait for their queue's rate limit are parked after the hold time, which changes their order.
    private mutating func checkPace(_ queue: String) {
        guard let rate = values.integer("\(queue).rate_limit.per_second"), let hold = values.integer("hold_seconds"),
            let prefetch = values.integer("\(queue).prefetch"), prefetch / rate >= hold
        else { return }
        warning(
            "\(queue).rate_limit.per_second",
            "\(queue).prefetch takes \(prefetch / rate) s at this rate, but requests wait at most hold_seconds"
                + " (\(hold)): lower prefetch")
    }

    /// Creates every decoder once to report the problems of its options.
    private mutating func checkDecoders() {
        var places: [String: String] = [:]
        for index in 0..<values.count("decoders") {
            let path = "decoders[\(index)]"
            let given = DecoderFormat.sections.map(\.rawValue).filter { values["\(path).\($0)"] == .section }
            if given.count != 1 {
                let found = given.isEmpty ? "" : ", found \(given.joined(separator: " and "))"
                error(path, "expected one of \(DecoderFormat.sections.map(\.rawValue).joined(separator: ", "))\(found)")
            }
            guard let name = values.text("\(path).name") else { continue }
            let shown = values.shown("\(path).name")
            if let other = places.updateValue(path, forKey: name) {
                error("\(path).name", "\(other) is \"\(shown)\" already")
            }
            if given.count == 1, given[0] != name, DecoderFormat(rawValue: name) != nil {
                error("\(path).name", "\"\(shown)\" is a format; give a decoder of another format another name")
            }
        }
        let entries = decoderEntries()
        let decoders = DecoderSet(entries.map(\.definition)) { index, path, message in
            refuse("\(entries[index].section).\(path)", message)
        }
        for path in (0..<values.count("queues")).map({ "queues[\($0)].decoder" }) {
            guard let name = values.text(path), let complaint = decoders.complaint(about: name) else { continue }
            refuse(path, complaint)
        }
    }

    private mutating func checkRoutes() {
        let queues = queueNames
        for section in ["results", "feedback", "dead_letter"] {
            guard let key = values.text("\(section).routing_key") else { continue }
            // Also with a named exchange: the topology binds a queue with this name to it.
            if queues.contains(where: { RetryQueueName.matches(key.utf8, queue: $0) }) {
                error("\(section).routing_key", "is the name of a retry queue: requests would loop")
            }
            if queues.contains(key) {
                error(
                    "\(section).routing_key",
                    "\"\(values.shown("\(section).routing_key"))\" is a request queue: requests would loop")
            }
            if key.isEmpty, values.text("\(section).exchange") == "" {
                error("\(section).routing_key", "the default exchange needs a queue's name")
            }
        }
    }

    private mutating func checkConnections() {
        if let least = values.integer("apns.connections.min"), let most = values.integer("apns.connections.max"),
            least > most
        {
            let most = values.shown("apns.connections.max")
            error(
                "apns.connections.min",
                "\(values.shown("apns.connections.min")) is more than apns.connections.max, \(most)")
        }
        if let text = values.text("apns.proxy"), text != "none", Addresses.proxy(text) == nil {
            error("apns.proxy", "expected http://user:password@host:port, or none")
        }
    }

    private mutating func checkApps() {
        var places: [String: String] = [:]
        for app in apps {
            if let topic = values.text("\(app).topic") {
                let isPlain = topic.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                if !isPlain { error("\(app).topic", "expected a bundle ID: letters, digits, dots and hyphens") }
                checkSuffix(of: topic, "\(app).topic")
                if let environment = values.text("\(app).environment") {
                    if let other = places.updateValue(app, forKey: "\(environment) \(topic)") {
                        error("\(app).topic", "\(other) has the same topic for \(environment) already")
                    }
                }
            }
            if let endpoint = values.text("\(app).endpoint"), Addresses.service(endpoint) == nil {
                error("\(app).endpoint", "expected https://host:port")
            }
            checkCredential(app)
        }
    }

    /// A full topic instead of a bundle ID would get a second suffix.
    private mutating func checkSuffix(of topic: String, _ path: String) {
        for type in PushType.allCases {
            let suffix = type.rules.topicSuffix.description
            guard !suffix.isEmpty, topic.hasSuffix(suffix) else { continue }
            switch type {
            // A bundle ID may end with these words.
            case .voip, .complication:
                warning(path, "is read as a bundle ID; if it is the topic of \(type), leave out \(suffix)")
            default:
                error(path, "is the topic of \(type), expected the bundle ID: leave out \(suffix)")
            }
        }
    }

    private mutating func checkCredential(_ app: String) {
        let token = "\(app).token"
        let certificate = "\(app).certificate"
        if values[token] == .off, values[certificate] == .off {
            error(app, "no credential: expected token or certificate")
        }
        if values[token] == .section {
            if values[certificate] == .section {
                error(certificate, "\(token) is also given; expected only one of the two")
            }
            for key in ["key_id", "team_id"] {
                let path = "\(token).\(key)"
                guard let text = values.text(path) else { continue }
                if !text.utf8.allSatisfy({ $0.isLetterOrDigit() }) {
                    error(path, "expected letters and digits")
                } else if text.utf8.count != 10 {
                    warning(path, "has \(text.utf8.count) characters; expected 10")
                }
            }
        }
        if values[certificate] == .section {
            let pem = ["certificate_file", "private_key_file"].map { "\(certificate).\($0)" }
            let hasPEM = pem.contains { values.text($0) != nil }
            if values.text("\(certificate).p12_file") != nil {
                if hasPEM { error("\(certificate).p12_file", "certificate_file or private_key_file is also given") }
            } else if hasPEM {
                checkPair(in: certificate)
            } else {
                error(certificate, "expected certificate_file and private_key_file, or p12_file")
            }
        }
    }

    private mutating func checkProcess() {
        if let listen = values.text("admin.listen") {
            if let endpoint = Addresses.listener(listen) {
                if !Addresses.isLoopback(endpoint.host), values.text("admin.token_file") == nil {
                    error("admin.listen", "is not a loopback address: set admin.token_file")
                }
            } else {
                error("admin.listen", "expected a numeric address and a port, such as 127.0.0.1:9464")
            }
        }
        if let endpoint = values.text("tracing.endpoint"), Addresses.collector(endpoint) == nil {
            error("tracing.endpoint", "expected http://host:port or https://host:port, without a path")
        }
    }

    private mutating func checkPair(in section: String) {
        let (certificate, key) = ("\(section).certificate_file", "\(section).private_key_file")
        switch (values.text(certificate), values.text(key)) {
        case (.some, .none) where values[key] == .off: error(certificate, "private_key_file is missing")
        case (.none, .some) where values[certificate] == .off: error(key, "certificate_file is missing")
        default: break
        }
    }
}
