import ArgumentParser

struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "harebell",
        abstract: "Bridges RabbitMQ to Apple Push Notification service.",
        discussion: """
            Reads requests from queues, sends them to APNs, publishes each result to the request's reply queue, and \
            only then acknowledges the request.

            Exit codes: 0 done, 64 usage, 65 the data was refused, 69 broker or APNs unavailable, 70 internal error, \
            78 configuration.
            """,
        version: VersionReport.text,
        subcommands: [
            RunCommand.self, ReadyCommand.self, CheckCommand.self, TopologyCommand.self, SendCommand.self,
            ChannelsCommand.self, DecodeCommand.self, DeadLettersCommand.self, TokenCommand.self, SimulateCommand.self,
            LoadCommand.self, SchemaCommand.self, ConfigCommand.self,
        ])
}
