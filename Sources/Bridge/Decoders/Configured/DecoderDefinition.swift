/// A decoder with options of its own.
package struct DecoderDefinition: Sendable, Equatable {
    package var name: String
    /// The format that it reads.
    package var format: String
    var options: SettingValues
}
