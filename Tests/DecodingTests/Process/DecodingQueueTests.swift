import Core
import TestSupport
import Testing

@testable import Decoding

@Suite("The queue of messages for a decoder program")
struct DecodingQueueTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func queue(batch: Int = 2, inFlight: Int = 4, messages: Handle = 0) -> DecodingQueue {
        var limits = DecodingQueue.Limits()
        limits.batch = batch
        limits.inFlight = inFlight
        var queue = DecodingQueue(limits)
        for handle in 0..<messages { queue.append(handle) }
        return queue
    }

    /// All messages asked now, batch by batch.
    private static func ask(_ queue: inout DecodingQueue, at now: Instant = start) -> [[UInt64: Handle]] {
        var batches: [[UInt64: Handle]] = []
        var batch: [UInt64: Handle] = [:]
        while queue.ask(
            at: now,
            { number, handle in
                batch[number] = handle
                return true
            })
        {
            batches.append(batch)
            batch = [:]
        }
        return batches
    }

    @Test("Batches and messages in flight stay within the limits")
    func limits() {
        var queue = Self.queue(batch: 3, inFlight: 4, messages: 9)
        #expect(Self.ask(&queue).map(\.count) == [3, 1])
        #expect(queue.inFlight == 4)
        #expect(queue.responded(1, at: Self.start) == 0)
        #expect(Self.ask(&queue).map(\.count) == [1])
        #expect(queue.count == 8)
        #expect(DecodingQueue.Limits().batch == 64 && DecodingQueue.Limits().inFlight == 512)
    }

    @Test("A writer without space for more ends its batch")
    func room() {
        var queue = Self.queue(batch: 3, messages: 3)
        var written: [Handle] = []
        let isAsking = queue.ask(at: Self.start) { _, handle in
            written.append(handle)
            return false
        }
        #expect(isAsking && written == [0])
    }

    @Test("The deadline is that of the oldest batch, counted from the previous batch's last answer")
    func deadline() {
        var queue = Self.queue(batch: 2, messages: 4)
        #expect(queue.deadline == nil)
        #expect(Self.ask(&queue).count == 2)
        #expect(queue.deadline == Self.start + .seconds(5))
        let later = Self.start + .seconds(3)
        // The second batch is partly answered: nothing changes for the first.
        #expect(queue.responded(3, at: later) == 2)
        #expect(queue.responded(1, at: later) == 0)
        #expect(queue.deadline == Self.start + .seconds(5))
        #expect(queue.responded(2, at: later) == 1)
        #expect(queue.deadline == later + .seconds(5))
        #expect(queue.responded(4, at: later) == 3)
        #expect(queue.deadline == nil)
    }

    @Test("A number is answered once")
    func once() {
        var queue = Self.queue(messages: 1)
        _ = Self.ask(&queue)
        #expect(queue.responded(7, at: Self.start) == nil)
        #expect(queue.responded(1, at: Self.start) == 0)
        #expect(queue.responded(1, at: Self.start) == nil)
    }

    @Test("After a failure the messages in flight are asked one by one, before all others")
    func suspects() {
        var queue = Self.queue(batch: 2, inFlight: 2, messages: 4)
        #expect(Self.ask(&queue) == [[1: 0, 2: 1]])
        #expect(queue.failed() == nil)
        #expect(Self.ask(&queue) == [[3: 0]])
        #expect(queue.responded(3, at: Self.start) == 0)
        #expect(Self.ask(&queue) == [[4: 1]])
        #expect(queue.responded(4, at: Self.start) == 1)
        #expect(Self.ask(&queue) == [[5: 2, 6: 3]])
    }

    @Test("A message that is alone in two failures, with an answer to another one in between, is blamed")
    func blame() {
        var queue = Self.queue(batch: 1, inFlight: 1, messages: 1)
        _ = Self.ask(&queue)
        #expect(queue.failed() == nil)
        // When the message is decoded, its failure is forgotten.
        #expect(Self.ask(&queue) == [[2: 0]])
        #expect(queue.responded(2, at: Self.start) == 0)
        queue.append(0)
        // Alone, nothing says whether the program works at all.
        for _ in 0..<5 {
            _ = Self.ask(&queue)
            #expect(queue.failed() == nil)
        }
        // Another message has to show it: it is asked next, alone.
        queue.append(1)
        #expect(Self.ask(&queue).flatMap(\.values) == [1])
        #expect(queue.responded(8, at: Self.start) == 1)
        #expect(Self.ask(&queue).flatMap(\.values) == [0])
        #expect(queue.failed() == 0 && queue.count == 0)
        #expect(Self.ask(&queue).isEmpty)
        queue.append(0)
        #expect(Self.ask(&queue).flatMap(\.values) == [0])
        #expect(queue.failed() == nil, "the handle is of another message now")
    }

    @Test("While the program fails over every message nothing is blamed, and afterwards each is answered")
    func outage() {
        var queue = Self.queue(batch: 2, inFlight: 4, messages: 6)
        for _ in 0..<50 {
            #expect(!Self.ask(&queue).isEmpty)
            #expect(queue.failed() == nil)
        }
        var answered: Set<Handle> = []
        for _ in 0..<20 {
            for (number, handle) in Self.ask(&queue).flatMap({ $0 }) {
                #expect(queue.responded(number, at: Self.start) == handle)
                answered.insert(handle)
            }
        }
        #expect(answered.count == 6 && queue.count == 0)
    }

    @Test(
        "Each message ends once however often a program fails, and only the causes of failures are blamed",
        arguments: 0..<40)
    func conservation(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = Self.queue(
            batch: Int.random(in: 1...5, using: &random), inFlight: Int.random(in: 1...9, using: &random))
        let messages: Handle = 60
        var spare = messages.value
        let poison = Set((0..<messages).filter { _ in Int.random(in: 0..<12, using: &random) == 0 })
        for handle in 0..<messages { queue.append(handle) }
        var ends: [Handle: Int] = [:]
        var blamed: Set<Handle> = []
        var rounds = 0
        while queue.count > 0, rounds < 10_000 {
            rounds += 1
            var asked = Self.ask(&queue).flatMap { $0 }
            asked.sort { $0.key < $1.key }
            for (number, handle) in asked {
                guard !poison.contains(handle) else { break }
                #expect(queue.responded(number, at: Self.start) == handle)
                ends[handle, default: 0] += 1
            }
            if queue.inFlight > 0, let culprit = queue.failed() {
                ends[culprit, default: 0] += 1
                blamed.insert(culprit)
            }
            // Where only the causes of failures are left, another message shows that the program works.
            if queue.count > 0, queue.count == poison.count - blamed.count {
                queue.append(Handle(spare))
                spare += 1
            }
        }
        ends = ends.filter { $0.key < messages }
        #expect(ends.count == messages.index && ends.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(blamed == poison, "seed \(seed)")
    }
}
