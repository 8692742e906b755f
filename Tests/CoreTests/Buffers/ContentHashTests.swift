import Testing

@testable import Core

@Suite("Content hash")
struct ContentHashTests {
    private static let body = (0..<67).map { UInt8($0) }

    private static func hash(_ parts: [UInt8]...) -> UInt64 {
        var hash = ContentHash()
        for part in parts { hash.combine(part.span) }
        return hash.value
    }

    @Test("Every bit changes the hash, at any position and length", arguments: 1...67)
    func bytes(count: Int) {
        let original = Array(Self.body.prefix(count))
        var hashes: Set<UInt64> = [Self.hash(original)]
        for bit in 0..<count * 8 {
            var body = original
            body[bit / 8] ^= 1 << UInt8(bit % 8)
            hashes.insert(Self.hash(body))
        }
        #expect(hashes.count == count * 8 + 1)
    }

    @Test("Bodies of zeros differ by their length")
    func lengths() {
        #expect(Set((0..<100).map { Self.hash([UInt8](repeating: 0, count: $0)) }).count == 100)
    }

    @Test("Swapping two parts changes the hash")
    func order() {
        let other = Array(Self.body[16..<32] + Self.body[..<16] + Self.body[32...])
        #expect(Self.hash(other) != Self.hash(Self.body))
        #expect(Self.hash(Self.body) == Self.hash(Array(Self.body)))
    }

    @Test("Numbers and their order change the hash")
    func numbers() {
        func hash(_ numbers: UInt64...) -> UInt64 {
            var hash = ContentHash()
            for number in numbers { hash.combine(number) }
            return hash.value
        }
        #expect(Set([hash(0), hash(1), hash(0, 0), hash(0, 1), hash(1, 0), hash(.max), hash(1 << 63)]).count == 7)
        #expect(hash(0, 1) == hash(0, 1))
    }

    @Test("Moving content to the neighbouring part changes the hash")
    func parts() {
        #expect(Self.hash([1, 2], [3]) != Self.hash([1], [2, 3]))
        #expect(Self.hash([], [1]) != Self.hash([1], []))
        #expect(Self.hash([1], []) != Self.hash([1]))
        #expect(Self.hash([1, 2], [3]) == Self.hash([1, 2], [3]))
    }
}
