/// The formats available in a program.
package struct DecoderRegistry: Sendable {
    package let formats: [DecoderFormat]
    /// The formats with options, which therefore have a section in `decoders[]`.
    package let sections: [String]

    /// The built-in formats.
    package static let builtIn = DecoderRegistry([
        AutoDecoder.format, APNsJSONDecoder.format, APNsHeadersDecoder.format, MappingDecoder.format,
        CloudEventsDecoder.format, CeleryDecoder.format, LibraryDecoder.format, ProcessDecoder.format,
    ])

    /// The formats of earlier releases.
    package static let removed = ["fcm-v1", "gorush", "node-apn", "pushy", "rpush", "sns"]
    /// What to do instead of using one of them.
    package static let replacement = "use a mapping, see docs/start/migrating.md"

    private init(_ formats: [DecoderFormat]) {
        self.formats = formats
        sections = formats.filter { !$0.settings.isEmpty }.map(\.name)
    }
}

extension DecoderRegistry: Equatable {
    /// Whether both have the same formats in the same versions.
    package static func == (left: DecoderRegistry, right: DecoderRegistry) -> Bool {
        left.formats.elementsEqual(right.formats) { $0.name == $1.name && $0.version == $1.version }
    }
}
