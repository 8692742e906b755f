/// Violations of Apple's tables in a payload: JSON paths and expectations, without values.
package struct PayloadFindings: Equatable, Sendable {
    /// Further findings are only counted.
    package static let maximumKept = 4

    private struct Finding: Equatable {
        /// The path up to Apple's last key.
        let path: String
        /// The rest of the path, chosen by the producer; may be empty.
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

    package var detail: String {
        line(texts)
    }

    /// All findings for the log, which must not contain payload data: keys other than Apple's are omitted.
    package var detailForLog: String {
        line(findings.map { "\($0.path)\($0.foreignPath.isEmpty ? "" : "[…]"): \($0.complaint)" })
    }

    private func line(_ texts: [String]) -> String {
        let rest = count - texts.count
        return texts.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }
}
