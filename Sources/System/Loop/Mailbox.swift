import Core

/// Carries messages from other threads into a loop: any thread posts them, and the loop delivers them in its turns.
///
/// The order of each posting thread is kept, and every accepted message is delivered once. A batch costs one wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
    package static var defaultCapacity: Int { 65_536 }
    /// After a larger burst the memory of the messages is released.
    static var retainedMessages: Int { 1024 }

    package let capacity: Int
    private let wakeUp: EventDescriptor
    private let waiting = Guarded<[Message]>([])

    package init(capacity: Int = Mailbox.defaultCapacity) throws(EventLoopError) {
        precondition(capacity > 0, "a mailbox needs a capacity")
        self.capacity = capacity
        do {
            wakeUp = try EventDescriptor()
        } catch {
            throw EventLoopError("cannot create a mailbox", error)
        }
    }

    var wakeUpDescriptor: Int32 {
        wakeUp.number
    }

    /// Posts a message from any thread, without blocking.
    ///
    /// - Returns: `false` if ``capacity`` messages are already waiting: this one was not accepted.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let count = waiting.withLock { messages -> Int? in
            guard messages.count < capacity else { return nil }
            messages.append(message)
            return messages.count
        }
        // Only the first message of a batch wakes the reader.
        if count == 1 { wakeUp.raise() }
        return count != nil
    }

    /// Swaps all waiting messages into `messages`, which must be empty.
    func take(into messages: inout [Message]) {
        // In this order: a message posted in between is either taken now or triggers another wake-up.
        wakeUp.lower()
        waiting.withLock { swap(&$0, &messages) }
    }
}
