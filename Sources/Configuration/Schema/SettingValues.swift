/// The values of all settings of one file, by their full paths (`apps[0].token.key_id`).
package struct SettingValues: Sendable {
    package enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int)
        case number(Double)
        case boolean(Bool)
        case section
        /// The number of elements. Each has a value at its own path, unless it is not valid.
        case list(Int)
        /// `null`, where that is valid.
        case off
    }

    private var values: [String: Value] = [:]
    /// The locations of keys and list elements; values from a default have none.
    var locations: [String: ConfigurationProblem.Location] = [:]
    /// The text in the file for values that contain environment variables (`${NAME}`).
    var written: [String: String] = [:]

    /// A value as shown in messages: the text in the file, never the value of an environment variable.
    package func shown(_ path: String) -> String {
        if let written = written[path] { return written }
        switch values[path] {
        case .text(let text): return text
        case .integer(let integer): return "\(integer)"
        case .number(let number): return "\(number)"
        case .boolean(let boolean): return "\(boolean)"
        case .off: return "null"
        case .section, .list, nil: return ""
        }
    }

    /// The location of the value, or of the closest enclosing section in the file.
    package func location(of path: String) -> ConfigurationProblem.Location {
        var path = Substring(path)
        while true {
            if let location = locations[String(path)] { return location }
            guard let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { break }
            path = path[..<end]
        }
        return ConfigurationProblem.Location(line: 1, column: 1)
    }

    /// Whether the file contains this key, rather than its default.
    package func isGiven(_ path: String) -> Bool {
        locations[path] != nil
    }

    /// `nil` if it is not valid.
    package internal(set) subscript(path: String) -> Value? {
        get { values[path] }
        set { values[path] = newValue }
    }

    package func text(_ path: String) -> String? {
        if case .text(let text) = values[path] { text } else { nil }
    }

    package func integer(_ path: String) -> Int? {
        if case .integer(let integer) = values[path] { integer } else { nil }
    }

    package func number(_ path: String) -> Double? {
        if case .number(let number) = values[path] { number } else { nil }
    }

    package func boolean(_ path: String) -> Bool? {
        if case .boolean(let boolean) = values[path] { boolean } else { nil }
    }

    /// `nil` also if an element is not valid.
    package func texts(_ path: String) -> [String]? { elements(path, text) }

    package func integers(_ path: String) -> [Int]? { elements(path, integer) }

    private func elements<Element>(_ path: String, _ value: (String) -> Element?) -> [Element]? {
        guard case .list(let count) = values[path] else { return nil }
        let elements = (0..<count).compactMap { value("\(path)[\($0)]") }
        return elements.count == count ? elements : nil
    }

    /// The number of elements in a list; 0 if it could not be read.
    package func count(_ path: String) -> Int {
        if case .list(let count) = values[path] { count } else { 0 }
    }
}
