import APNs
import ArgumentParser
import Configuration
import Core
import Decoding
import Pipeline
import Runtime
import System

struct ChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Creates, lists, shows and deletes an app's broadcast channels.",
        discussion: """
            Exit code 0 if APNs did it, 65 if APNs refused it, 69 without a response. Channels belong to one app in \
            one environment, which has at most 10000 of them.

            Example: harebell channels list --topic com.example.app
            """,
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a channel and prints its ID.",
            discussion: """
                The request is sent once. If the response is lost, the channel may exist: list the channels.

                Example: harebell channels create --message-storage-policy 1
                """)

        @OptionGroup var app: ChannelOptions

        @Option(
            help: ArgumentHelp(
                "Messages stored for offline devices: none (0) or the latest one (1). Cannot be changed later.",
                valueName: "policy"))
        var messageStoragePolicy: MessageStoragePolicy

        func run() throws {
            try app.run(.create(messageStoragePolicy))
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the IDs of all channels.",
            discussion: "Example: harebell channels list --topic com.example.app")

        @OptionGroup var app: ChannelOptions

        func run() throws {
            try app.run(.list)
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a channel's storage policy.",
            discussion: "Example: harebell channels show --channel dHN0LXNyY2gtY2hubA==")

        @OptionGroup var app: ChannelOptions
        @OptionGroup var channel: ChannelID

        func run() throws {
            try app.run(.read(channel.bytes))
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes a channel permanently.",
            discussion: """
                The ID is never used again. Messages that APNs stored may still be delivered.

                Example: harebell channels delete --channel dHN0LXNyY2gtY2hubA==
                """)

        @OptionGroup var app: ChannelOptions
        @OptionGroup var channel: ChannelID

        func run() throws {
            try app.run(.delete(channel.bytes))
        }
    }
}

/// The common options of the four commands.
struct ChannelOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOption
    @OptionGroup var app: AppOption

    @Flag(help: "One JSON object instead of a table.")
    var json = false

    /// Sends one request to APNs, prints the result and ends the command with its status.
    func run(_ operation: ChannelOperation) throws {
        let settings = try configuration.load()
        let app = try app.choose(from: settings)
        var random = SystemRandomNumberGenerator()
        let id = NotificationID.random(using: &random)
        let request = APNsRequest(Notification(operation), topic: ArraySlice(app.topic.utf8), id: id)
        let runner = try LoopRunner(.apns)
        let exchange = try OneOffExchange(
            request, for: app, settings.apns, tokens: ProviderTokens([app]), network: runner.network,
            seed: UInt64.random(in: 0 ... .max), at: SystemClock.now())
        try runner.run(exchange)
        for alarm in exchange.alarms { complain("\(alarm)") }
        guard let report = exchange.report else { preconditionFailure("a finished exchange has a report") }
        let result = ChannelResult(operation: operation, id: id, report: report)
        if json {
            printLine(json: result.json)
        } else if let lines = result.lines {
            printLine(lines: lines)
        } else {
            complain(result.complaint)
        }
        if let status = report.outcome.status { throw status }
        if report.detail != nil { throw Status.unavailable }
    }
}

/// `--channel ID`, for an existing channel.
struct ChannelID: ParsableArguments {
    @Option(help: ArgumentHelp("The channel's ID, in base64.", valueName: "id"))
    var channel: String

    var bytes: ArraySlice<UInt8> { ArraySlice(channel.utf8) }

    func validate() throws {
        guard ChannelOperation.isChannelID(bytes) else {
            throw ValidationError("--channel is base64, at most \(ChannelOperation.maximumChannelID) characters")
        }
    }
}

extension MessageStoragePolicy: ExpressibleByArgument {
    /// - Parameter argument: the policy's name, or APNs' number for it.
    package init?(argument: String) {
        guard
            let policy = Self.allCases.first(where: { argument == "\($0)" || argument == String($0.rawValue) })
        else { return nil }
        self = policy
    }
}

/// The result of a channel request, as text or JSON.
struct ChannelResult {
    let operation: ChannelOperation
    let id: NotificationID
    let report: Report

    /// `nil` for a failure.
    var lines: [String]? {
        guard report.outcome == .accepted, report.detail == nil, let channel = report.channel else { return nil }
        let id = String(decoding: channel.channelID ?? operation.channelID ?? [], as: UTF8.self)
        switch operation {
        case .create, .read: return ["channel  \(id)", "storage  \(policyName)"]
        case .delete: return ["deleted  \(id)"]
        case .list:
            let names = channel.channelIDs ?? []
            return names + ["\(names.count) channel\(names.count == 1 ? "" : "s")"]
        }
    }

    private var policy: Int? {
        report.channel?.storagePolicy.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }

    private var policyName: String {
        let known = policy.flatMap { UInt8(exactly: $0) }.flatMap(MessageStoragePolicy.init)
        return known.map { "\($0)" } ?? policy.map { String($0) } ?? ""
    }

    var complaint: String {
        guard let status = report.status else {
            let isKnown = report.processed == .no || operation.isIdempotent
            let advice = isKnown ? "" : "; the channel may have been created: list the channels before trying again"
            return (report.detail ?? "no answer") + advice
        }
        let reason = report.reason.map { " \($0.rawValue)" } ?? ""
        return "APNs answered \(status)\(reason)" + (report.detail.map { ": \($0)" } ?? "")
    }

    var json: [(String, JSONOutput)] {
        let channel = report.channel
        return [
            ("operation", .text(operation.name.description)), ("apns-request-id", .text(id.description)),
            ("apns-channel-id", .bytes(channel?.channelID ?? operation.channelID)),
            ("message-storage-policy", policy.map { .integer($0) } ?? .null),
            ("channels", channel?.channelIDs.map { .array($0.map { .text($0) }) } ?? .null),
            ("outcome", .text(report.outcome.name.description)),
            ("status", report.status.map { .integer(Int($0)) } ?? .null),
            ("reason", report.reason.map { .text($0.rawValue) } ?? .null),
            ("processed", .text(report.processed.name.description)),
            ("detail", .optional(report.detail)),
        ]
    }
}
