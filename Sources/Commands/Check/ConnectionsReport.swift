import Core
import Decoding

/// The connections part of `harebell check --connect`, as text or JSON.
extension ConnectionCheck {
    func count(_ severity: ConnectionFinding.Severity) -> Int {
        places.flatMap(\.findings).count { $0.severity == severity }
    }

    var lines: [String] {
        places.flatMap { place in
            var table = TextTable()
            for (index, finding) in place.findings.enumerated() {
                table.add([finding.severity.rawValue, finding.subject, finding.text])
                // A hint shared by several findings is printed after the last of them.
                if let hint = finding.hint, place.findings.dropFirst(index + 1).first?.hint != hint {
                    table.add(["", "", "→ \(hint)"])
                }
            }
            return ["\(place.peer.rawValue) \(place.endpoint): \(place.purpose)"] + table.lines.map { "    \($0)" }
        }
    }

    var json: JSONOutput {
        .array(
            places.map { place in
                .object([
                    ("peer", .text(place.peer.rawValue)), ("endpoint", .text(place.endpoint.description)),
                    ("purpose", .text(place.purpose)), ("findings", .array(place.findings.map(Self.object))),
                ])
            })
    }

    private static func object(_ finding: ConnectionFinding) -> JSONOutput {
        .object([
            ("severity", .text(finding.severity.rawValue)), ("subject", .text(finding.subject)),
            ("text", .text(finding.text)), ("hint", .optional(finding.hint)),
        ])
    }
}
