import Core
import Decoding

extension Setting {
    /// A name, and one section per format with options.
    static let decoders =
        [
            Setting(
                "decoders", .list(of: .section, count: 0...256), default: "[]",
                "Decoders with options; formats without options need no entry."),
            Setting("decoders[].name", .text(bytes: 1...64), default: nil, "The name for queues and other decoders."),
        ]
        + DecoderFormat.sections.flatMap { format in
            let (summary, options) = options(of: format)
            let section = "decoders[].\(format.rawValue)"
            return [Setting(section, .section, default: "null", summary)] + options.map { $0.below(section) }
        }

    /// The summary of a format and its options, with paths relative to its section.
    private static func options(of format: DecoderFormat) -> (summary: String, [Setting]) {
        switch format {
        case .auto, .apnsJSON, .apnsHeaders: ("", [])
        case .mapping: ("Any message, with a source for each field.", mapping)
        case .cloudevents:
            ("Events of CloudEvents, structured or binary; their data is the request.", cloudevents)
        case .celery: ("Celery tasks in JSON, with the place of the request in their arguments.", celery)
        case .library: ("Any format, decoded by a shared library.", library)
        case .process: ("A program in any language that decodes messages over standard input and output.", process)
        }
    }

    private static let mapping =
        MappingDecoder.names.map { name in
            Setting(
                name.text.description, .text(bytes: 1...1024), default: "null",
                "The source: a JSON pointer, header:NAME, property:NAME, a template"
                    + (name == .id ? "; not a constant." : " or a constant."))
        } + [
            Setting(
                "payload", .text(bytes: 1...16384), default: nil,
                "A JSON pointer to the payload, body if the body is the payload, or JSON with {/pointer} "
                    + "placeholders."),
            Setting(
                "key", .text(bytes: 1...1024), default: "null",
                "The key of a request without a message ID; a source like the fields, not a constant."),
            Setting(
                "only_if", .list(of: .text(bytes: 0...1024), count: 0...65), default: "[]",
                "A source, not a constant, and its accepted values; messages without one of them are ignored."),
        ]

    private static let cloudevents = [
        Setting("decoder", .text(bytes: 1...64), default: "auto", "The decoder of the event's data."),
        Setting(
            "types", .list(of: .text(bytes: 1...255), count: 0...64), default: "[]",
            "The event types that are requests; others are ignored. [] accepts all."),
    ]

    private static let celery = [
        Setting("tasks", .list(of: .section, count: 1...64), default: nil, "The tasks that contain requests."),
        Setting("tasks[].name", .text(bytes: 1...255), default: nil, "The task's name in Celery."),
        Setting(
            "tasks[].pointer", .text(bytes: 1...1024), default: "/kwargs",
            "A JSON pointer to the request: below /args or /kwargs."),
        Setting("tasks[].decoder", .text(bytes: 1...64), default: "apns-json", "The decoder of this value."),
        Setting(
            "results", .choice(["ignore_reply_to", "reply_to"]), default: "ignore_reply_to",
            "Whether results go to reply_to, which Celery sets in every task, even if no queue has that name."),
    ]

    private static let library = [
        Setting(
            "file", .file, default: nil,
            "The library; only root and the worker's user may be able to write to it or its folder."
        ),
        Setting(
            "options", .text(bytes: 2...65536), default: "\"{}\"",
            "Options for the library, as the text of a JSON object."),
    ]

    private static let process = [
        Setting(
            "command", .list(of: .text(bytes: 1...4096), count: 1...64), default: nil,
            "The program, searched in PATH unless its name has a slash, and its arguments; without a shell."),
        Setting(
            "deadline_milliseconds", .integer(1...600_000), default: "5000",
            "Time limit for a batch; then the program is killed and started again."),
    ]
}
