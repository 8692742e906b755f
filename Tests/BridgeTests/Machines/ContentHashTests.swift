import Testing

@testable import Bridge

@Suite("Content hash")
struct ContentHashTests {
    private static let body = (0..<67).map { UInt8($0) }

    @Test("Every byte of a body counts, wherever it stands")
    func bytes() {
        var hashes: Set<UInt64> = [ContentHash.of(Self.body.span)]
        for index in Self.body.indices {
            var body = Self.body
            body[index] ^= 0x80
            hashes.insert(ContentHash.of(body.span))
        }
        #expect(hashes.count == Self.body.count + 1)
    }

    @Test("Bodies of zeros differ by their length")
    func lengths() {
        let hashes = Set((0..<100).map { ContentHash.of([UInt8](repeating: 0, count: $0).span) })
        #expect(hashes.count == 100)
    }

    @Test("Two parts that change places make another hash")
    func order() {
        let other = Array(Self.body[16..<32] + Self.body[..<16] + Self.body[32...])
        #expect(ContentHash.of(other.span) != ContentHash.of(Self.body.span))
        #expect(ContentHash.of(Self.body.span) == ContentHash.of(Array(Self.body).span))
    }
}
