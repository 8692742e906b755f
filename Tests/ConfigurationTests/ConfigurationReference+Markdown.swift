import Configuration

extension ConfigurationReference {
    /// The table of docs/reference/configuration.md.
    var markdown: String {
        let rows = entries.map { entry in
            "| `\(entry.path)` | \(entry.type) | `\(entry.defaultValue)` | \(entry.range) | "
                + "\(Self.escape(entry.summary)) |"
        }
        return "| key | type | default | range | meaning |\n|---|---|---|---|---|\n" + rows.joined(separator: "\n")
            + "\n"
    }

    private static func escape(_ text: String) -> String {
        text.replacing("|", with: "\\|").replacing("<", with: "&lt;")
    }
}
