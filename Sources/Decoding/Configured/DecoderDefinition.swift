package import Settings

/// A named decoder with its options.
package struct DecoderDefinition: Sendable, Equatable {
    package var name: String
    /// The name of its format.
    package var format: String
    package var options: SettingValues

    package init(name: String, format: String, options: SettingValues) {
        self.name = name
        self.format = format
        self.options = options
    }
}
