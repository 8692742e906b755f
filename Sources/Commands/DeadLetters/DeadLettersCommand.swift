import ArgumentParser

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Lists, shows, replays, discards, exports and imports dead letters.",
        discussion: """
            Reading holds messages unacknowledged for a moment and returns them in order; on a quorum queue this \
            counts as a delivery. One command works on a queue at a time: it holds a lock, the queue \
            QUEUE.replay.lock.

            Exit code 65 if something was refused or the run ended early, 69 if the broker is not available or another \
            run holds the lock.

            Example: harebell dead-letters list --since 2h
            """,
        subcommands: [
            DeadLettersList.self, DeadLettersShow.self, DeadLettersReplay.self, DeadLettersDiscard.self,
            DeadLettersExport.self, DeadLettersImport.self,
        ])
}
