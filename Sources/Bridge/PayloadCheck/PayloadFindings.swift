/// What is wrong with a payload by Apple's tables: JSON paths with what was expected there, and no value.
package struct PayloadFindings: Equatable, Sendable {
    /// Further ones are only counted.
    package static let maximumKept = 4

    package private(set) var texts: [String] = []
    package private(set) var count = 0

    package var isEmpty: Bool { count == 0 }

    mutating func add(_ text: @autoclosure () -> String) {
        count += 1
        if texts.count < Self.maximumKept { texts.append(text()) }
    }

    /// All of it in one line.
    package var detail: String {
        let rest = count - texts.count
        return texts.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }
}
