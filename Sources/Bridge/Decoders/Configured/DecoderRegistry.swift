/// The formats that come with Harebell.
package enum DecoderRegistry {
    package static let builtIn: [DecoderFormat] = [
        AutoDecoder.format, APNsJSONDecoder.format, APNsHeadersDecoder.format, MappingDecoder.format,
        CloudEventsDecoder.format, CeleryDecoder.format, GorushDecoder.format, GaurunDecoder.format,
        RpushDecoder.format,
        FCMDecoder.format, SNSDecoder.format, NodeAPNDecoder.format, PushyDecoder.format,
    ]

    /// Those that have options, and so a section in `decoders[]`.
    static let sections = builtIn.filter { !$0.settings.isEmpty }.map(\.name)
}

extension Configuration.Decoder {
    /// What the file says of decoders, as far as it can be made out, with the path of each one's section.
    static func all(in values: SettingValues) -> [(decoder: Configuration.Decoder, section: String)] {
        (0..<values.count("decoders")).compactMap { index in
            let path = "decoders[\(index)]"
            guard let name = values.text("\(path).name"),
                let format = DecoderRegistry.sections.first(where: { values["\(path).\($0)"] == .section })
            else { return nil }
            let section = "\(path).\(format)"
            return (Configuration.Decoder(name: name, format: format, options: values.section(section)), section)
        }
    }
}
