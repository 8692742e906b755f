package import Settings

/// A decoder with options of its own.
package struct DecoderDefinition: Sendable, Equatable {
    package var name: String
    /// The format that it reads.
    package var format: String
    package var options: SettingValues

    package init(name: String, format: String, options: SettingValues) {
        self.name = name
        self.format = format
        self.options = options
    }
}
