import Settings

/// The formats available in a program.
package struct DecoderRegistry: Sendable {
    /// Why a format cannot be registered: a programming error.
    package struct Conflict: Error, CustomStringConvertible {
        package let description: String
    }

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

    /// These formats with others added.
    package func adding(_ others: [DecoderFormat]) throws(Conflict) -> DecoderRegistry {
        var known = Set(formats.map(\.name))
        for format in others {
            guard Self.isName(format.name), format.name != "name" else {
                throw Conflict(
                    description:
                        "the format \"\(format.name)\" needs another name: 1 to 64 lower-case letters, digits, "
                        + "hyphens and underscores, and not \"name\"")
            }
            guard known.insert(format.name).inserted else {
                throw Conflict(description: "two formats are called \"\(format.name)\"")
            }
            var keys: Set<String> = []
            for setting in format.settings {
                guard Self.isName(setting.path), keys.insert(setting.path).inserted else {
                    throw Conflict(
                        description: "the option \"\(setting.path)\" of the format \"\(format.name)\" needs another "
                            + "name, used once: 1 to 64 lower-case letters, digits, hyphens and underscores"
                    )
                }
            }
            if let problem = SettingReader.problem(inDefaultsOf: format.settings) {
                throw Conflict(
                    description: "an option of the format \"\(format.name)\" has a wrong default: \(problem)")
            }
        }
        return DecoderRegistry(formats + others)
    }

    /// Whether a text is valid as a key of the configuration file.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension DecoderRegistry: Equatable {
    /// Whether both have the same formats in the same versions.
    package static func == (left: DecoderRegistry, right: DecoderRegistry) -> Bool {
        left.formats.elementsEqual(right.formats) { $0.name == $1.name && $0.version == $1.version }
    }
}
