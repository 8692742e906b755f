import Decoding
import Settings
import System

extension DecoderDefinition {
    /// The readable decoder definitions of the file, with the path of each one's section. Relative paths in their
    /// options start at the configuration file's folder.
    ///
    /// - Parameter file: the configuration file.
    static func all(
        in values: SettingValues, of file: String
    ) -> [(decoder: DecoderDefinition, section: String)] {
        (0..<values.count("decoders")).compactMap { index in
            let path = "decoders[\(index)]"
            guard let name = values.text("\(path).name"),
                let format = DecoderFormat.all.first(where: { values["\(path).\($0.name)"] == .section })
            else { return nil }
            let section = "\(path).\(format.name)"
            var options = values.section(section)
            for setting in format.settings where setting.kind == .file {
                guard let path = options.text(setting.path) else { continue }
                options.set(setting.path, .text(WholeFile.path(path, beside: file)))
            }
            return (DecoderDefinition(name: name, format: format.name, options: options), section)
        }
    }
}

extension DecoderSet {
    /// - Parameter configuration: a validated one.
    package init(_ configuration: Configuration) {
        self.init(configuration.decoders)
    }
}
