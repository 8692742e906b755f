import Configuration

extension Schema {
    /// The table of docs/reference/configuration.md.
    static var markdown: String {
        let rows = settings.map { setting in
            let summary = setting.summary.replacing("|", with: "\\|").replacing("<", with: "&lt;")
            return "| `\(setting.path)` | \(setting.typeText) | `\(setting.defaultText)` | \(setting.rangeText) | "
                + "\(summary) |\n"
        }
        return "| key | type | default | range | meaning |\n|---|---|---|---|---|\n" + rows.joined()
    }
}
