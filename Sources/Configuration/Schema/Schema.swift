import Decoding

/// The settings of the configuration file.
package enum Schema {
    /// In the order of the reference.
    package static let settings = Setting.all
    /// The settings of each section.
    static let children = Dictionary(grouping: settings, by: \.parent)
    /// What to do instead of each removed key, by its path.
    static let removed = DecoderFormat.removed.reduce(into: Setting.removed) { removed, format in
        removed["decoders[].\(format)"] = DecoderFormat.replacement
    }
    /// The new name of each renamed key, by its old path. For one release the old name is accepted with a warning.
    static let renamed = ["broker.maximum_message_bytes": "max_message_bytes"]
}
