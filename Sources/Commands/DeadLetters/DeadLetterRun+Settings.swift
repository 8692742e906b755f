import Core

extension DeadLetterRun {
    enum Action {
        /// Called with each chosen message, whose body is empty if it is too large.
        case read((Delivery, DeadLetter) -> Void)
        /// Returns the destination for the queue that a letter came from; `nil` if it must not be replayed.
        case replay(to: (String?) -> String?)
        case discard
        /// Called with lines of an archive; they must be safe when it returns. The messages are removed if it discards.
        case export(discards: Bool, ([[UInt8]]) throws -> Void)
        /// Publishes this number of messages of an archive. Called for the next one; `nil` after the last one.
        case publish(count: Int, () throws -> ArchivedMessage?)
    }

    struct Settings: Sendable {
        static let rates = 1...1_000_000
        static let defaultRate = 500

        var queue: String
        var filter = DeadLetterFilter()
        /// The maximum number of chosen messages.
        var limit = Int.max
        /// Messages per second; `nil` for no limit.
        var rate: Int?
        /// The maximum of unacknowledged messages on the first connection; the bodies of chosen ones are in memory.
        var prefetch: UInt16 = 1200
        /// The same for a further connection, which opens when another holds only messages that stay.
        var furtherPrefetch: UInt16 = 5000
        /// The same while no body is kept.
        var readingPrefetch: UInt16 = 50_000
        /// Below the broker's consumer timeout, 30 minutes: it closes a channel that holds a message for longer.
        var longestHold = Duration.seconds(25 * 60)
        /// The maximum of unconfirmed publishes.
        var window = 200
        /// The timeout for a response of the broker.
        var timeLimit = Duration.seconds(30)
        /// Ends the run after this number of closes over publishes without a confirm in between: the cause is then not
        /// a single message.
        var closesInARow = 100
    }

    enum End: Equatable, Sendable {
        /// All messages from the start were processed.
        case complete
        case stopped
        /// Another run holds the lock of the queue.
        case locked
        /// The export could not be written.
        case unwritable(String)
        case failed(String)

        /// The machine-readable name.
        var name: String {
            switch self {
            case .complete: "complete"
            case .stopped: "interrupted"
            case .locked: "locked"
            case .failed, .unwritable: "failed"
            }
        }
    }

    /// The reason for the end, for operators.
    var explanation: String {
        switch end {
        case .complete, nil: "complete"
        case .stopped: "interrupted: messages that were not sent are still in the queue"
        case .locked:
            "another dead-letters command works on queue \"\(settings.queue)\" and holds the lock "
                + "\(Self.lockName(of: settings.queue)); the name of its connection shows the command, the host and "
                + "the process (rabbitmqctl list_connections client_properties)"
        case .unwritable(let message): "cannot write the file: \(message)"
        case .failed(let message): message
        }
    }
}
