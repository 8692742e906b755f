import Core
import Testing

@testable import System

@Suite("A mailbox")
struct MailboxTests {
    @Test("delivers every message of several threads once, and keeps each thread's order")
    func conservation() throws {
        struct Letter: Sendable {
            let sender: Int
            let number: Int
        }
        let senders = 4
        let letters = 20_000
        let fixture = try LoopFixture()
        let mailbox = try Mailbox<Letter>(capacity: senders * letters)
        var next = [Int](repeating: 0, count: senders)
        var outOfOrder = 0
        try fixture.loop.attach(mailbox) { letter in
            if next[letter.sender] != letter.number { outOfOrder += 1 }
            next[letter.sender] += 1
        }
        let threads = try (0..<senders).map { sender in
            try Thread.start(name: "sender \(sender)") {
                for number in 0..<letters { mailbox.post(Letter(sender: sender, number: number)) }
            }
        }
        try fixture.run { next.allSatisfy { $0 == letters } }
        for thread in threads { _ = thread.join(until: .distantFuture) }
        #expect(next == [Int](repeating: letters, count: senders))
        #expect(outOfOrder == 0)
    }

    @Test("delivers messages posted during delivery in a later turn")
    func postedWhileDelivering() throws {
        let fixture = try LoopFixture()
        let mailbox = try Mailbox<Int>()
        var delivered: [Int] = []
        try fixture.loop.attach(mailbox) { number in
            delivered.append(number)
            if number < 10 { mailbox.post(number + 1) }
        }
        mailbox.post(0)
        try fixture.run { delivered.count == 11 }
        #expect(delivered == Array(0...10))
        #expect(fixture.loop.turns >= 11)
    }

    @Test("refuses messages beyond its capacity, and accepts them again once it was drained")
    func capacity() throws {
        let fixture = try LoopFixture()
        let mailbox = try Mailbox<Int>(capacity: 2)
        var delivered: [Int] = []
        try fixture.loop.attach(mailbox) { delivered.append($0) }
        #expect([1, 2, 3].map { mailbox.post($0) } == [true, true, false])
        try fixture.run { delivered.count == 2 }
        #expect(mailbox.post(4))
        try fixture.run { delivered.count == 3 }
        #expect(delivered == [1, 2, 4])
    }
}
