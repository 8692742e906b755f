import Core
import TestSupport
import Testing

@testable import Decoding

@Suite("The queue of messages for a decoder program")
struct DecodingLineTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func line(batch: Int = 2, inFlight: Int = 4, messages: Handle = 0) -> DecodingLine {
        var limits = DecodingLine.Limits()
        limits.batch = batch
        limits.inFlight = inFlight
        var line = DecodingLine(limits)
        for handle in 0..<messages { line.append(handle) }
        return line
    }

    /// All messages asked now, batch by batch.
    private static func ask(_ line: inout DecodingLine, at now: Instant = start) -> [[UInt64: Handle]] {
        var batches: [[UInt64: Handle]] = []
        var batch: [UInt64: Handle] = [:]
        while line.ask(
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
        var line = Self.line(batch: 3, inFlight: 4, messages: 9)
        #expect(Self.ask(&line).map(\.count) == [3, 1])
        #expect(line.inFlight == 4)
        #expect(line.answered(1, at: Self.start) == 0)
        #expect(Self.ask(&line).map(\.count) == [1])
        #expect(line.count == 8)
    }

    @Test("A writer without space for more ends its batch")
    func room() {
        var line = Self.line(batch: 3, messages: 3)
        var written: [Handle] = []
        let isAsking = line.ask(at: Self.start) { _, handle in
            written.append(handle)
            return false
        }
        #expect(isAsking)
        #expect(written == [0])
    }

    @Test("The deadline is that of the oldest batch, counted from the previous batch's last answer")
    func deadline() {
        var line = Self.line(batch: 2, messages: 4)
        #expect(line.deadline == nil)
        #expect(Self.ask(&line).count == 2)
        #expect(line.deadline == Self.start + .seconds(5))
        let later = Self.start + .seconds(3)
        // The second batch is partly answered: nothing changes for the first.
        #expect(line.answered(3, at: later) == 2)
        #expect(line.answered(1, at: later) == 0)
        #expect(line.deadline == Self.start + .seconds(5))
        #expect(line.answered(2, at: later) == 1)
        #expect(line.deadline == later + .seconds(5))
        #expect(line.answered(4, at: later) == 3)
        #expect(line.deadline == nil)
    }

    @Test("A number is answered once")
    func once() {
        var line = Self.line(messages: 1)
        _ = Self.ask(&line)
        #expect(line.answered(7, at: Self.start) == nil)
        #expect(line.answered(1, at: Self.start) == 0)
        #expect(line.answered(1, at: Self.start) == nil)
    }

    @Test("After a failure the messages in flight are asked one by one, before all others")
    func suspects() {
        var line = Self.line(batch: 2, inFlight: 2, messages: 4)
        #expect(Self.ask(&line) == [[1: 0, 2: 1]])
        #expect(line.failed() == nil)
        #expect(Self.ask(&line) == [[3: 0]])
        #expect(line.answered(3, at: Self.start) == 0)
        #expect(Self.ask(&line) == [[4: 1]])
        #expect(line.answered(4, at: Self.start) == 1)
        #expect(Self.ask(&line) == [[5: 2, 6: 3]])
    }

    @Test("A message that is alone in two failures is blamed; an answer in between clears its first failure")
    func blame() {
        var line = Self.line(batch: 1, inFlight: 1, messages: 1)
        _ = Self.ask(&line)
        #expect(line.failed() == nil)
        #expect(Self.ask(&line) == [[2: 0]])
        #expect(line.answered(2, at: Self.start) == 0)
        line.append(0)
        _ = Self.ask(&line)
        #expect(line.failed() == nil)
        _ = Self.ask(&line)
        #expect(line.failed() == 0)
        #expect(line.count == 0)
        #expect(Self.ask(&line).isEmpty)
    }

    @Test(
        "Each message ends once however often a program fails, and only the causes of failures are blamed",
        arguments: 0..<40)
    func conservation(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var line = Self.line(
            batch: Int.random(in: 1...5, using: &random), inFlight: Int.random(in: 1...9, using: &random))
        let messages: Handle = 60
        let poison = Set((0..<messages).filter { _ in Int.random(in: 0..<12, using: &random) == 0 })
        for handle in 0..<messages { line.append(handle) }
        var ends: [Handle: Int] = [:]
        var blamed: Set<Handle> = []
        var rounds = 0
        while line.count > 0, rounds < 10_000 {
            rounds += 1
            var asked = Self.ask(&line).flatMap { $0 }
            asked.sort { $0.key < $1.key }
            for (number, handle) in asked {
                guard !poison.contains(handle) else { break }
                #expect(line.answered(number, at: Self.start) == handle)
                ends[handle, default: 0] += 1
            }
            if line.inFlight > 0, let culprit = line.failed() {
                ends[culprit, default: 0] += 1
                blamed.insert(culprit)
            }
        }
        #expect(ends.count == messages.index && ends.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(blamed == poison, "seed \(seed)")
    }
}
