import Core

/// The way into a loop from other threads: messages are posted anywhere and delivered in the loop's turns.
///
/// Order is kept for each posting thread, and every message that was taken is delivered once. A batch costs one
/// wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
    /// The default of the most messages that wait at a time.
    package static var defaultCapacity: Int { 65_536 }

    /// The most messages that wait at a time.
    package let capacity: Int
    private let wakeUp: EventDescriptor
    private let waiting = Guarded<[Message]>([])

    package init(capacity: Int = Mailbox.defaultCapacity) throws(EventLoopError) {
        precondition(capacity > 0, "a mailbox holds something")
        self.capacity = capacity
        do {
            wakeUp = try EventDescriptor(.byLoop)
        } catch {
            throw EventLoopError("cannot create a mailbox", error)
        }
    }

    var wakeUpDescriptor: Int32 {
        wakeUp.number
    }

    /// Leaves a message, on any thread, without waiting.
    ///
    /// - Returns: `false` when ``capacity`` messages wait already: this one was not taken.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let count = waiting.withLock { messages -> Int? in
            guard messages.count < capacity else { return nil }
            messages.append(message)
            return messages.count
        }
        // Only the first of a batch has to wake the reader; the others are taken along.
        if count == 1 { wakeUp.raise() }
        return count != nil
    }

    /// Swaps everything that waits into `messages`, which is empty.
    func take(into messages: inout [Message]) {
        // In this order: a message posted in between is either taken now or raises the wake-up again.
        wakeUp.lower()
        waiting.withLock { swap(&$0, &messages) }
    }
}

/// A mailbox's end in a loop.
protocol Inlet: AnyObject {
    func drain()
}

final class MailboxInlet<Message: Sendable>: Inlet, ReadinessHandler {
    /// A burst larger than this gives its memory back.
    static var retainedMessages: Int { 1024 }

    private let mailbox: Mailbox<Message>
    private unowned let loop: EventLoop
    private let deliver: (Message) -> Void
    /// Changes places with the mailbox's array, so that a quiet mailbox does not allocate.
    private var messages: [Message] = []

    init(mailbox: Mailbox<Message>, loop: EventLoop, deliver: @escaping (Message) -> Void) {
        self.mailbox = mailbox
        self.loop = loop
        self.deliver = deliver
    }

    func ready(_ readiness: Readiness, at now: Moment) {
        loop.drainLater(self)
    }

    func drain() {
        mailbox.take(into: &messages)
        for message in messages { deliver(message) }
        messages.removeAll(keepingCapacity: messages.capacity <= Self.retainedMessages)
    }
}
