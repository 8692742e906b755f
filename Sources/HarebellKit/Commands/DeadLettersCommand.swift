import ArgumentParser

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Looks at dead letters, sends them back, discards, saves and restores them.",
        discussion: """
            Looking holds messages unacknowledged for a moment and gives them back in their order; on a quorum queue \
            it counts as a delivery. Whatever takes messages out of the queue has it for itself: the lock is a queue \
            named QUEUE.replay.lock.

            Exit code 65 if something was refused or the run ended early, 69 if the broker is not there or another \
            run has the lock.
            """,
        subcommands: [
            DeadLettersList.self, DeadLettersShow.self, DeadLettersReplay.self, DeadLettersDiscard.self,
            DeadLettersExport.self, DeadLettersImport.self,
        ])
}
