/// The settings of a file.
package struct Schema: Sendable {
    /// In the order of the reference.
    package let settings: [Setting]
    /// The settings of each section.
    let children: [String: [Setting]]

    package init(_ settings: [Setting]) {
        self.settings = settings
        children = Dictionary(grouping: settings, by: \.parent)
    }
}
