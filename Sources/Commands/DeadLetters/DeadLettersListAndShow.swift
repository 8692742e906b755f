import AMQP
import ArgumentParser
import Configuration
import Core
import Decoding

struct DeadLettersList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Counts the dead letters by outcome, reason and the queue that they came from.",
        discussion: "Example: harebell dead-letters list --since 2h")

    @OptionGroup var options: DeadLetterOptions

    func run() throws {
        let access = try options.access(verb: "list")
        try DeadLetterTable(access, options).show(asJSON: options.json)
    }
}

struct DeadLettersShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows dead letters one by one.",
        discussion: """
            Without --show-payloads or log.show_payloads, device tokens are shortened, and bodies and results left out.

            Example: harebell dead-letters show --reason BadTopic --limit 5
            """)

    static let defaultLimit = 10

    @OptionGroup var options: DeadLetterOptions

    @Option(help: "Only messages with this apns-id or message id.")
    var id: String?

    @Flag(help: "Show bodies and full device tokens.")
    var showPayloads = false

    func run() throws {
        let access = try options.access(verb: "show")
        var views: [DeadLetterView] = []
        let isOpen = showPayloads || access.settings.log.showPayloads
        let run = try access.read({
            options.select(&$0)
            $0.filter.id = id
            $0.limit = options.limit ?? Self.defaultLimit
        }) { views.append(DeadLetterView($0, $1, access.reader, showsPayloads: isOpen)) }
        if options.json {
            printLine(json: [
                ("queue", .text(access.queue)), ("messages", .integer(run.tally.atStart)),
                ("dead_letters", .array(views.map(\.json))),
            ])
        } else {
            for view in views { printLine(lines: view.lines + [""]) }
            printLine("\(views.count) of \(run.tally.atStart) messages in \(access.queue)")
        }
        if id != nil, views.isEmpty { throw Status.refused }
    }
}

struct DeadLetterView {
    private let members: [(String, JSONOutput)]
    private let headers: [(String, JSONOutput)]
    private let body: (String, JSONOutput)

    init(_ delivery: Delivery, _ letter: DeadLetter, _ reader: RequestReader, showsPayloads: Bool) {
        let request = reader.request(of: delivery, from: letter.queue)
        let tokens: [JSONOutput] = request.notifications.compactMap { notification in
            guard case .device(let token) = notification.target else { return nil }
            return .text(showsPayloads ? String(decoding: token.hex, as: UTF8.self) : token.description)
        }
        members = [
            ("maker", .text(letter.maker.rawValue)), ("message-id", .bytes(delivery.messageID)),
            ("correlation-id", .bytes(delivery.correlationID)), ("reply-to", .bytes(delivery.replyTo)),
            ("content-type", .bytes(delivery.contentType)), ("type", .bytes(delivery.type)),
            ("timestamp", delivery.timestamp.map { .integer(Int(clamping: $0)) } ?? .null),
            ("apns-topic", .optional(reader.topic(of: delivery, from: letter.queue))),
            ("device-tokens", .array(tokens)),
        ]
        headers = Self.headers(of: delivery, showsPayloads: showsPayloads)
        body = ("body", showsPayloads ? .bytes(delivery.body) : Self.omitted(delivery.body))
    }

    private static func omitted(_ bytes: some Collection<UInt8>) -> JSONOutput {
        .text("\(bytes.count) bytes; --show-payloads shows them")
    }

    private static func headers(of delivery: Delivery, showsPayloads: Bool) -> [(String, JSONOutput)] {
        let table: FieldTable
        do {
            table = try MessageProperties(decoding: delivery.rawProperties).headers ?? FieldTable()
        } catch {
            return [("(unreadable)", .text(error.message))]
        }
        return table.entries.map { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            return (name, showsPayloads ? JSONOutput(entry.value) : shortened(entry.value, of: name))
        }
    }

    /// A header's value with shortened device tokens, also those in an array.
    private static func shortened(_ value: FieldValue, of name: String) -> JSONOutput {
        let text: [UInt8]
        switch value {
        case .array(let values): return .array(values.map { shortened($0, of: name) })
        case .text(let bytes), .bytes(let bytes): text = bytes
        default: return JSONOutput(value)
        }
        // A result names its device.
        if name == "harebell-result" { return omitted(text) }
        // Names have any case, and a mapping reads tokens from headers of any name.
        let isNamed = ["device-token", "device-tokens"].contains(name.lowercased())
        let words = String(decoding: text, as: UTF8.self).split { $0 == "," || $0 == " " }
        func isToken(_ word: Substring) -> Bool { isNamed || word.count >= 64 && word.allSatisfy(\.isHexDigit) }
        guard words.contains(where: isToken) else { return JSONOutput(value) }
        let shown = words.map { isToken($0) ? "\($0.prefix(8))…" : String($0) }
        return .text(shown.joined(separator: isNamed ? ", " : " "))
    }

    var json: JSONOutput {
        .object(members + [("headers", .object(headers)), body])
    }

    var lines: [String] { JSONOutput.table(members + headers + [body]) }
}
