import APNs
import Core
import TestSupport
import Testing

@Suite("RequestLine")
struct RequestLineTests {
    /// Takes everything out, or `count` requests.
    private func drain(_ line: inout RequestLine, _ count: Int = .max) -> [Handle] {
        var taken: [Handle] = []
        while taken.count < count, let handle = line.popFirst() { taken.append(handle) }
        return taken
    }

    @Test(
        "The higher priority goes first, each first in, first out, and what is sent again goes before all",
        arguments: [
            ([Priority.low, .considerate, .immediate], [Handle](), [2, 1, 0] as [Handle]),
            ([.immediate, .immediate, .immediate], [], [0, 1, 2]),
            ([.low, .low, .considerate, .immediate, .considerate], [], [3, 2, 4, 0, 1]),
            ([.low, .immediate, .low, .considerate], [2, 0], [2, 0, 1, 3]),
        ])
    func order(priorities: [Priority], ahead: [Handle], expected: [Handle]) {
        var line = RequestLine()
        for (handle, priority) in priorities.enumerated() where !ahead.contains(Handle(handle)) {
            line.append(Handle(handle), priority: priority)
        }
        for handle in ahead { line.appendAhead(handle) }
        #expect(line.count == priorities.count)
        #expect(drain(&line) == expected)
        #expect(line.isEmpty && line.first == nil)
    }

    @Test("Where all priorities always wait, 26 of 35 are immediate, 7 considerate and 2 low")
    func shares() {
        var line = RequestLine()
        let priorities: [Priority] = [.immediate, .considerate, .low]
        var counts: [Int] = [0, 0, 0]
        for handle in 0..<30 { line.append(Handle(handle), priority: priorities[handle % 3]) }
        for _ in 0..<35_000 {
            guard let handle = line.popFirst() else { break }
            counts[handle.index % 3] += 1
            line.append(handle, priority: priorities[handle.index % 3])
        }
        #expect(counts == [26_000, 7_000, 2_000])
    }

    @Test("What comes late to a priority that was passed over before does not go ahead for it")
    func lateComer() {
        var line = RequestLine()
        line.append(100, priority: .considerate)
        for handle in 0..<20 { line.append(Handle(handle), priority: .immediate) }
        #expect(drain(&line, 4) == [0, 1, 2, 3])
        line.remove(100)
        line.append(101, priority: .considerate)
        #expect(drain(&line, 5) == [4, 5, 6, 7, 101])
    }

    @Test("What is sent again is nobody's turn, so that it makes no one wait longer or less")
    func resent() {
        var line = RequestLine()
        line.append(100, priority: .low)
        for handle in 0..<20 { line.append(Handle(handle), priority: .immediate) }
        _ = drain(&line, 10)
        for handle in 200..<300 { line.appendAhead(Handle(handle)) }
        #expect(drain(&line, 100) == Array(200..<300))
        #expect(drain(&line, 7) == [10, 11, 12, 13, 14, 15, 100])
    }

    @Test("Whatever comes and goes, nothing is lost, and nobody is passed over for longer than its patience")
    func walk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var line = RequestLine()
        var model: [Priority: [Handle]] = [.immediate: [], .considerate: [], .low: []]
        var ahead: [Handle] = []
        var passed: [Priority: Int] = [:]
        var next = Handle(0)
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let priority = Priority.allCases.randomElement(using: &random) ?? .low
                if model[priority]?.isEmpty == true { passed[priority] = 0 }
                line.append(next, priority: priority)
                model[priority]?.append(next)
                next += 1
            case 9:
                line.appendAhead(next)
                ahead.append(next)
                next += 1
            case 10:
                let priority = Priority.allCases.randomElement(using: &random) ?? .low
                guard let handle = model[priority]?.randomElement(using: &random) else { continue }
                line.remove(handle)
                model[priority]?.removeAll { $0 == handle }
            default:
                let expected = line.first
                let taken = line.popFirst()
                try #require(taken == expected, "seed \(seed)")
                guard let taken else { continue }
                if !ahead.isEmpty {
                    try #require(ahead.removeFirst() == taken, "seed \(seed)")
                    continue
                }
                for (priority, waiting) in model where !waiting.isEmpty {
                    passed[priority, default: 0] += 1
                    guard waiting.first == taken else { continue }
                    model[priority]?.removeFirst()
                    passed[priority] = 0
                }
                try #require(!line.contains(taken), "seed \(seed)")
            }
            try #require(line.count == ahead.count + model.values.reduce(0) { $0 + $1.count }, "seed \(seed)")
            try #require(passed[.considerate, default: 0] <= RequestLine.consideratePatience, "seed \(seed)")
            try #require(passed[.low, default: 0] <= RequestLine.lowPatience + 1, "seed \(seed)")
        }
    }
}
