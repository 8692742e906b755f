/// "Did you mean": the candidate closest to a misspelt word.
package enum Suggestion {
    /// - Parameter prefixes: beginnings that candidates share with other words, so their letters do not count.
    /// - Returns: `nil` unless a candidate differs only in case, hyphens and underscores, or in about a third
    ///   of the letters.
    package static func closest(to word: String, among candidates: [String], after prefixes: [String] = []) -> String? {
        let word = normal(word)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let other = normal(candidate)
            let beginning = prefixes.first { other.starts(with: $0.utf8) }?.utf8.count ?? 0
            let count = max(word.count, other.count) - beginning
            let distance = distance(word, other)
            guard distance <= max(1, (count + 1) / 3), distance < best?.distance ?? .max else { continue }
            best = (candidate, distance)
        }
        return best?.candidate
    }

    /// - Returns: the closest candidate, else the only one that begins with the word.
    package static func completion(of word: String, among candidates: [String]) -> String? {
        if let closest = closest(to: word, among: candidates) { return closest }
        let beginning = normal(word)
        let longer = candidates.filter { normal($0).starts(with: beginning) }
        return beginning.count >= shortestBeginning && longer.count == 1 ? longer[0] : nil
    }

    /// Shorter words match a beginning by chance.
    private static let shortestBeginning = 3

    package static func question(_ candidate: String?) -> String? {
        candidate.map { "did you mean \"\($0)\"?" }
    }

    /// Normalises `heartbeatSeconds`, `heartbeat-seconds` and `heartbeat_seconds` to the same word.
    package static func normal(_ word: String) -> [UInt8] {
        word.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }

    /// Insertions, deletions, substitutions and transpositions of neighbours (optimal string alignment).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard left.count <= 64, right.count <= 64 else { return .max }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let substitution = last[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(last[column + 1] + 1, current[column] + 1, substitution)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
