/// The settings of a file.
package struct Schema: Sendable {
    /// In the order of the reference.
    package let settings: [Setting]
    /// The settings of each section.
    let children: [String: [Setting]]
    /// What to do instead of each removed key, by its path.
    let removed: [String: String]

    package init(_ settings: [Setting], removed: [String: String] = [:]) {
        self.settings = settings
        self.removed = removed
        children = Dictionary(grouping: settings, by: \.parent)
    }
}
