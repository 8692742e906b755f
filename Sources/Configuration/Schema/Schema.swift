/// The settings of a file.
package struct Schema: Sendable {
    /// In the order of the reference.
    package let settings: [Setting]
    /// The settings of each section.
    let children: [String: [Setting]]
    /// What to do instead of each removed key, by its path.
    let removed: [String: String]
    /// The new name of each renamed key, by its old path. For one release the old name is accepted with a warning.
    let renamed: [String: String]

    package init(_ settings: [Setting], removed: [String: String] = [:], renamed: [String: String] = [:]) {
        self.settings = settings
        self.removed = removed
        self.renamed = renamed
        children = Dictionary(grouping: settings, by: \.parent)
    }
}
