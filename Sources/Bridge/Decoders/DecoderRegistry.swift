package import Core

/// The decoders that a configuration may name.
package enum DecoderRegistry {
    package static let builtIn: [any Decoder] = [AutoDecoder(), APNsJSONDecoder(), APNsHeadersDecoder()]

    package static let names = builtIn.map(\.name)

    /// - Returns: `nil` unless a decoder has this name.
    package static func decoder(named name: String) -> (any Decoder)? {
        builtIn.first { $0.name == name }
    }
}
