/// What is wrong with a payload by Apple's tables: JSON paths with what was expected there, and no value.
package struct PayloadFindings: Equatable, Sendable {
    /// Further ones are only counted.
    package static let maximumKept = 4

    private struct Finding: Equatable {
        /// Up to the last key of Apple's.
        let path: String
        /// The rest of the path, which the sender of the payload has chosen; may be empty.
        let foreignPath: String
        let complaint: String
    }

    private var findings: [Finding] = []
    package private(set) var count = 0

    package var isEmpty: Bool { count == 0 }

    package var texts: [String] {
        findings.map { "\($0.path)\($0.foreignPath): \($0.complaint)" }
    }

    mutating func add(
        _ path: @autoclosure () -> String, foreignPath: @autoclosure () -> String = "",
        _ complaint: @autoclosure () -> String
    ) {
        count += 1
        guard findings.count < Self.maximumKept else { return }
        findings.append(Finding(path: path(), foreignPath: foreignPath(), complaint: complaint()))
    }

    /// All of it in one line.
    package var detail: String {
        line(texts)
    }

    /// The same for the log, which shows nothing of a payload: other keys than Apple's are left out.
    package var detailForLog: String {
        line(findings.map { "\($0.path)\($0.foreignPath.isEmpty ? "" : "[…]"): \($0.complaint)" })
    }

    private func line(_ texts: [String]) -> String {
        let rest = count - texts.count
        return texts.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }
}
