package import Core

/// Damages inputs to find weak parsers: bytes changed, lost, repeated, moved, cut off, and misplaced words of the
/// format.
///
/// The same seed damages the same inputs in the same way.
package struct Mutator {
    /// The number of inputs of a test: that of `make fuzz`, else enough for a run of all tests.
    package static func inputs(_ usual: Int) -> Int {
        TestEnvironment.fuzzInputs ?? usual
    }

    /// Random if many inputs are requested; otherwise the same in every run.
    package static func seed(_ usual: UInt64) -> UInt64 {
        TestEnvironment.fuzzInputs == nil ? usual : .random(in: 0 ... .max)
    }

    package var random: SplitMix64
    private let fragments: [[UInt8]]

    /// - Parameter fragments: words of the format, or numbers at its limits; at least one.
    package init(seed: UInt64, fragments: [[UInt8]]) {
        precondition(!fragments.isEmpty, "there is something to insert")
        random = SplitMix64(seed: seed)
        self.fragments = fragments
    }

    /// One damage or a few.
    package mutating func damage(_ input: inout [UInt8]) {
        for _ in 0...Int.random(in: 0...3, using: &random) { damageOnce(&input) }
    }

    private mutating func damageOnce(_ input: inout [UInt8]) {
        guard !input.isEmpty else { return input = fragment() }
        let place = Int.random(in: 0..<input.count, using: &random)
        let end = min(input.count, place + Int.random(in: 0...12, using: &random))
        switch Int.random(in: 0..<7, using: &random) {
        case 0: input[place] = UInt8.random(in: 0...255, using: &random)
        case 1: input[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: input.removeSubrange(place..<end)
        case 3: input.insert(contentsOf: fragment(), at: place)
        case 4: input.replaceSubrange(place..<end, with: fragment())
        case 5: input.insert(contentsOf: input[place..<end], at: Int.random(in: 0...input.count, using: &random))
        default: input.removeSubrange(place...)
        }
    }

    private mutating func fragment() -> [UInt8] {
        fragments[Int.random(in: 0..<fragments.count, using: &random)]
    }

    /// Numbers at the limits of binary formats, and a few others.
    package static let binaryFragments: [[UInt8]] = [
        [0], [0xFF], [0x7F], [0x80], [0, 0], [0xFF, 0xFF], [0, 0, 0, 0], [0x7F, 0xFF, 0xFF, 0xFF],
        [0xFF, 0xFF, 0xFF, 0xFF],
        [0x80, 0, 0, 0], [0, 1, 0, 0], [0xCE], Array(repeating: 0xFF, count: 8), Array(repeating: 0, count: 40),
    ]
}
