public import Core
public import Settings

/// A message format: what it is called, what a configuration may say about it, and how a decoder for it is made.
public struct DecoderFormat: Sendable {
    /// What `queues[].decoder` calls it, and the section in `decoders` with its options.
    public let name: String
    /// Of what the decoder makes of a message (semantic versioning): the first number changes when the same message
    /// becomes something else.
    public let version: String
    /// One sentence, for the reference of the configuration.
    public let summary: String
    /// The keys of its section, with paths that begin there.
    package let settings: [Setting]
    /// Has no side effects and reads no file; what is wrong between the options it reports to them.
    let make: @Sendable (inout DecoderOptions) -> any Decoder

    /// - Parameters:
    ///   - name: 1 to 64 lower-case letters, digits, hyphens and underscores; no other format has it.
    ///   - version: three numbers with dots between them.
    ///   - summary: one sentence, for the reference of the configuration.
    ///   - options: what its section in `decoders` may say. A format without options has no section.
    ///   - make: makes a decoder of what a configuration says, and reports to the options what is wrong between them.
    ///     It is called for every decoder of a configuration, by `check` as well, and more than once: it reads no file,
    ///     opens no connection and starts no thread.
    public init(
        _ name: String, version: String, _ summary: String, _ options: [Setting] = [],
        make: @escaping @Sendable (inout DecoderOptions) -> any Decoder
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        settings = options
        self.make = make
    }

    /// What its options are where a configuration says nothing; what it would have to say is missing.
    var defaults: SettingValues {
        SettingReader.defaults(of: settings)
    }

    /// The schema of `decoders`: a name, and one section for each format.
    package static func schema(_ formats: [DecoderFormat]) -> [Setting] {
        let list = [
            Setting(
                "decoders", .sections(count: 0...256), default: "[]",
                "Decoders with options; formats without options need no entry."),
            Setting(
                "decoders[].name", .text(bytes: 1...64), default: nil, "The name for queues and other decoders."),
        ]
        return list
            + formats.filter { !$0.settings.isEmpty }.flatMap { format in
                let section = "decoders[].\(format.name)"
                return [Setting(section, .section, default: "null", format.summary)]
                    + format.settings.map { $0.below(section) }
            }
    }
}
