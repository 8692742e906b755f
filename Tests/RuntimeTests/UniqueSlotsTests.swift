import Testing

@testable import Runtime

@Suite("Slots for values that cannot be copied")
struct UniqueSlotsTests {
    final class Log {
        var ended: [Int] = []
    }

    struct Member: ~Copyable {
        let number: Int
        let log: Log
        deinit { log.ended.append(number) }
    }

    @Test("Values stay in place while the array grows, and each ends once: emptied, replaced, or with the array")
    func values() {
        let log = Log()
        do {
            var slots = UniqueSlots<Member>()
            for number in 0..<5 {
                slots.append()
                #expect(slots.count == number + 1)
                let isEmpty = slots[number] == nil
                #expect(isEmpty)
                slots[number] = Member(number: number, log: log)
            }
            for number in 0..<5 {
                let found = slots[number]?.number
                #expect(found == number)
            }
            #expect(log.ended.isEmpty)
            slots[3] = nil
            #expect(log.ended == [3])
            slots[3] = Member(number: 13, log: log)
            slots[1] = Member(number: 11, log: log)
            #expect(log.ended == [3, 1])
        }
        #expect(log.ended == [3, 1, 0, 11, 2, 13, 4])
    }
}
