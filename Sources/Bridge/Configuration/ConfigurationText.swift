import Yams

/// A configuration file's text as a tree of nodes that know their lines.
///
/// The YAML library stops at the first mapping with a repeated key. So that one run reports them all, each repeated key
/// is masked in the text and composed again; ``name(of:)`` gives the masked key's name back.
struct ConfigurationText {
    /// More repeated keys than this are not looked for.
    private static let maximumMasks = 100
    private static let privateUse: ClosedRange<UInt32> = 0xE000...0xF8FF

    let root: Node?
    private let masks: [String: String]

    /// A file that says nothing.
    static var empty: ConfigurationText { ConfigurationText() }

    private init() {
        root = nil
        masks = [:]
    }

    /// - Throws: what makes the text unreadable as YAML.
    init(_ text: String, file: String) throws(ConfigurationError) {
        var scalars = Array(text.unicodeScalars)
        var masks: [String: String] = [:]
        while true {
            do {
                var masked = String.UnicodeScalarView()
                masked.append(contentsOf: scalars)
                root = try Parser(yaml: String(masked), encoding: .utf8).singleRoot()
                self.masks = masks
                return
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                let location = ConfigurationProblem.Location(context.mark)
                guard let name = names.first, masks.count < Self.maximumMasks,
                    let mask = Self.mask(name, at: location, number: masks.count, in: &scalars)
                else {
                    let message = "duplicate key \"\(names.first ?? "")\""
                    throw ConfigurationError(problems: [
                        ConfigurationProblem(severity: .error, file: file, location: location, message: message)
                    ])
                }
                masks[mask] = name
            } catch {
                throw ConfigurationError(problems: [Self.problem(error, text: scalars, file: file)])
            }
        }
    }

    /// The name of a key as it stands in the file.
    func name(of key: String) -> String {
        masks[key] ?? key
    }

    /// Overwrites a key with as many characters of the private use area, so that all positions stay.
    private static func mask(
        _ name: String, at location: ConfigurationProblem.Location, number: Int, in scalars: inout [Unicode.Scalar]
    ) -> String? {
        guard var start = offset(of: location, in: scalars), !name.isEmpty else { return nil }
        if start < scalars.count, scalars[start] == "\"" || scalars[start] == "'" { start += 1 }
        let end = start + name.unicodeScalars.count
        guard end <= scalars.count, scalars[start..<end].elementsEqual(name.unicodeScalars),
            let scalar = Unicode.Scalar(privateUse.lowerBound + UInt32(number)), privateUse.contains(scalar.value)
        else { return nil }
        for index in start..<end { scalars[index] = scalar }
        return String(String.UnicodeScalarView(scalars[start..<end]))
    }

    private static func offset(of location: ConfigurationProblem.Location, in scalars: [Unicode.Scalar]) -> Int? {
        var line = 1
        var index = 0
        while line < location.line {
            guard index < scalars.count else { return nil }
            let scalar = scalars[index]
            index += 1
            switch scalar {
            case "\r":
                if index < scalars.count, scalars[index] == "\n" { index += 1 }
                line += 1
            case "\n", "\u{85}", "\u{2028}", "\u{2029}":
                line += 1
            default:
                continue
            }
        }
        return index + location.column - 1
    }

    /// Only the library's words and the place: its own description would quote the file, secrets included.
    private static func problem(_ error: any Error, text: [Unicode.Scalar], file: String) -> ConfigurationProblem {
        var location = ConfigurationProblem.Location(line: 1, column: 1)
        let message: String
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            location = ConfigurationProblem.Location(mark)
            message = context.map { "\($0.text): \(problem)" } ?? problem
        case YamlError.reader(let problem, let offset, _, _):
            for scalar in text.prefix(offset ?? 0) {
                location.column += 1
                if scalar == "\n" { location = ConfigurationProblem.Location(line: location.line + 1, column: 1) }
            }
            message = problem
        case YamlError.memory:
            message = "not enough memory"
        default:
            message = "\(type(of: error))"
        }
        return ConfigurationProblem(severity: .error, file: file, location: location, message: "not YAML: \(message)")
    }
}

extension ConfigurationProblem.Location {
    init(_ mark: Mark) {
        self.init(line: mark.line, column: mark.column)
    }
}
