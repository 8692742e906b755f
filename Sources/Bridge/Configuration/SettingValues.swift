/// The values of all settings of one file, by their full paths (`apps[0].token.key_id`).
struct SettingValues: Equatable, Sendable {
    enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int)
        case boolean(Bool)
        case texts([String])
        case integers([Int])
        case section
        case sections(Int)
        /// `null` where that is a value of its own.
        case off
    }

    private var values: [String: Value] = [:]
    /// Of lists of texts some of whose elements are wrong, the others.
    private var fragments: [String: [String?]] = [:]
    private var locations: [String: ConfigurationProblem.Location] = [:]

    mutating func set(_ path: String, _ value: Value) {
        values[path] = value
    }

    /// A list of texts; it has a value if each of them has.
    mutating func set(_ path: String, elements: [String?]) {
        if elements.contains(nil) {
            fragments[path] = elements
        } else {
            set(path, .texts(elements.compactMap(\.self)))
        }
    }

    /// Remembers where a key or a list's element stands; what comes from a default has no place.
    mutating func locate(_ path: String, at location: ConfigurationProblem.Location) {
        locations[path] = location
    }

    /// Where the value stands, or the closest section around it that the file has.
    func location(of path: String) -> ConfigurationProblem.Location {
        var path = Substring(path)
        while true {
            if let location = locations[String(path)] { return location }
            guard let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { break }
            path = path[..<end]
        }
        return ConfigurationProblem.Location(line: 1, column: 1)
    }

    /// Whether the file gives this key, rather than its default.
    func isGiven(_ path: String) -> Bool {
        locations[path] != nil
    }

    /// What lies in a section, with paths that begin there, and without places.
    func section(_ section: String) -> SettingValues {
        var inner = SettingValues()
        for (path, value) in values where path.hasPrefix(section + ".") {
            inner.values[String(path.dropFirst(section.count + 1))] = value
        }
        return inner
    }

    subscript(path: String) -> Value? {
        values[path]
    }

    func text(_ path: String) -> String? {
        if case .text(let text) = values[path] { text } else { nil }
    }

    func integer(_ path: String) -> Int? {
        if case .integer(let integer) = values[path] { integer } else { nil }
    }

    func boolean(_ path: String) -> Bool? {
        if case .boolean(let boolean) = values[path] { boolean } else { nil }
    }

    func texts(_ path: String) -> [String]? {
        if case .texts(let texts) = values[path] { texts } else { nil }
    }

    /// Those elements of a list of texts that are right, in their places.
    func elements(_ path: String) -> [String?] {
        texts(path) ?? fragments[path] ?? []
    }

    func integers(_ path: String) -> [Int]? {
        if case .integers(let integers) = values[path] { integers } else { nil }
    }

    /// The number of sections in a list; 0 where it could not be read.
    func count(_ path: String) -> Int {
        if case .sections(let count) = values[path] { count } else { 0 }
    }
}
