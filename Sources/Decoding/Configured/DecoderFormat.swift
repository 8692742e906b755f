import Core
package import Settings

/// A message format: its name, its configuration options, and the factory for its decoders.
package struct DecoderFormat: Sendable {
    /// The value of `queues[].decoder`, and the name of its options section in `decoders`.
    package let name: String
    /// The semantic version of the decoder's output. The major version changes when the same message is decoded
    /// differently.
    package let version: String
    /// One sentence, for the configuration reference.
    package let summary: String
    /// The keys of its section, with paths relative to the section.
    package let settings: [Setting]
    /// Must not have side effects or read files. Reports conflicts between options to them.
    let make: @Sendable (inout DecoderOptions) -> any Decoder

    /// - Parameters:
    ///   - name: 1 to 64 lower-case letters, digits, hyphens and underscores; unique among the formats.
    ///   - version: three numbers separated by dots.
    ///   - summary: one sentence, for the configuration reference.
    ///   - options: the options of its section in `decoders`. A format without options has no section.
    ///   - make: creates a decoder from its options, and reports conflicts between them. It is called for every
    ///     decoder of a configuration, also by `check`, and more than once.
    init(
        _ name: String, version: String, _ summary: String, _ options: [Setting] = [],
        make: @escaping @Sendable (inout DecoderOptions) -> any Decoder
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        settings = options
        self.make = make
    }

    /// The default options; required options are missing.
    var defaults: SettingValues {
        SettingReader.defaults(of: settings)
    }

    /// All formats, in the order of the reference.
    package static let all = [
        AutoDecoder.format, APNsJSONDecoder.format, APNsHeadersDecoder.format, MappingDecoder.format,
        CloudEventsDecoder.format, CeleryDecoder.format, LibraryDecoder.format, ProcessDecoder.format,
    ]

    /// The formats with options, which therefore have a section in `decoders[]`.
    package static let sections = all.filter { !$0.settings.isEmpty }.map(\.name)

    /// The formats of earlier releases.
    package static let removed = ["fcm-v1", "gorush", "node-apn", "pushy", "rpush", "sns"]
    /// What to do instead of using one of them.
    package static let replacement = "use a mapping, see docs/start/migrating.md"

    /// The schema of `decoders`: a name, and one section per format.
    package static var schema: [Setting] {
        let list = [
            Setting(
                "decoders", .sections(count: 0...256), default: "[]",
                "Decoders with options; formats without options need no entry."),
            Setting(
                "decoders[].name", .text(bytes: 1...64), default: nil, "The name for queues and other decoders."),
        ]
        return list
            + all.filter { !$0.settings.isEmpty }.flatMap { format in
                let section = "decoders[].\(format.name)"
                return [Setting(section, .section, default: "null", format.summary)]
                    + format.settings.map { $0.below(section) }
            }
    }
}
