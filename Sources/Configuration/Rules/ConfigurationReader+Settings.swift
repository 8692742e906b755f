import Core

/// Validates a file's tree against the schema.
extension ConfigurationReader {
    mutating func readSettings(_ root: YAMLNode?) {
        if let root, root.mapping == nil, !Self.isNull(root) {
            report(root, "expected keys and values, found \(Self.kind(of: root))")
        } else {
            readSection(root?.mapping ?? [], path: "", schema: "")
        }
    }

    /// - Parameters:
    ///   - path: the section's path in the file.
    ///   - schema: the section's path in the schema.
    private mutating func readSection(_ mapping: [YAMLNode.Entry], path: String, schema: String) {
        let settings = Schema.children[schema] ?? []
        var given: [String: YAMLNode] = [:]
        var lines: [String: Int] = [:]
        for entry in mapping {
            let key = entry.key
            guard let name = key.scalar?.string else {
                report(key, "expected a key, found \(Self.kind(of: key))")
                continue
            }
            // An address may have a password.
            let shown = name.contains("@") ? "…" : name
            let first = lines[name, default: key.location.line]
            if lines.updateValue(first, forKey: name) != nil {
                report(key, "duplicate key \"\(shown)\"\(Self.within(path)); it is already on line \(first)")
            }
            if let newName = Schema.renamed[Self.join(schema, name)] {
                guard !mapping.contains(where: { $0.key.scalar?.string == newName }) else {
                    report(key, "\(Self.join(path, name)) and \(newName) are both given")
                    continue
                }
                report(
                    .warning, at: key.location,
                    "\(Self.join(path, name)) is now \(newName); the old name will be an error in the next release")
                given[newName] = entry.value
                continue
            }
            guard settings.contains(where: { $0.key == name }) else {
                if let replacement = Schema.removed[Self.join(schema, name)] {
                    report(key, "\(Self.join(path, name)) was removed", hint: replacement)
                    continue
                }
                report(
                    key, "unknown key \"\(shown)\"\(Self.within(path))", hint: hint(for: name, among: settings))
                // So that only the name is reported, and not also what depends on the section.
                if let meant = Self.section(for: name, entry.value, among: settings), given[meant] == nil {
                    given[meant] = entry.value
                }
                continue
            }
            given[name] = entry.value
        }
        for setting in settings {
            let path = Self.join(path, setting.key)
            if let node = given[setting.key] {
                readValue(node, setting, path)
            } else if let defaultValue = setting.defaultValue {
                readDefault(defaultValue, setting, path: path)
            } else {
                report(path, "\(path) is missing: \(setting.summary)")
            }
        }
    }

    private mutating func readValue(_ node: YAMLNode, _ setting: Setting, _ path: String) {
        if !isDefault { values.locations[path] = node.location }
        values[path] = value(of: node, setting, path)
    }

    private mutating func readDefault(_ yaml: String, _ setting: Setting, path: String) {
        guard let node = try? YAMLParser.root(of: Array(yaml.utf8)) else {
            preconditionFailure("the schema's default of \(setting.path) is YAML")
        }
        let isOuterDefault = isDefault
        isDefault = true
        readValue(node, setting, path)
        isDefault = isOuterDefault
    }

    /// - Returns: `nil` if it is not valid, which has been reported.
    private mutating func value(of node: YAMLNode, _ setting: Setting, _ path: String) -> SettingValues.Value? {
        if setting.isOptional, Self.isNull(node) { return .off }
        switch setting.kind {
        case .section:
            // Only an element of a list has no default.
            let isElement = setting.defaultValue == nil
            guard let mapping = Self.isNull(node) && !isElement ? [] : node.mapping else {
                // Lists of texts are common elsewhere, so `- push.requests` is a likely mistake.
                let key = isElement ? Schema.children[setting.path]?.first { $0.defaultValue == nil }?.key : nil
                let text = node.scalar?.string ?? ""
                let hint = key.flatMap { text.isEmpty ? nil : "write - \($0): \(Self.quote(text))" }
                return mismatch(node, setting.kind, path, hint: hint)
            }
            readSection(mapping, path: path, schema: setting.path)
            return .section
        case .list(let kind, let count):
            guard let sequence = node.sequence else { return mismatch(node, setting.kind, path) }
            checkCount(sequence.count, count, path)
            let element = Setting("\(setting.path)[]", kind, default: nil, setting.summary)
            for (index, node) in sequence.enumerated() {
                let path = "\(path)[\(index)]"
                readValue(node, element, path)
            }
            return .list(sequence.count)
        case .text(let bytes): return text(of: node, setting.kind, path, bytes: bytes).map { .text($0) }
        case .file: return text(of: node, setting.kind, path, bytes: 1...4095).map { .text($0) }
        case .integer(let range):
            return number(of: node, setting.kind, path, range: range) { Int($0) }.map { .integer($0) }
        case .number(let range):
            return number(of: node, setting.kind, path, range: range, Double.init).map { .number($0) }
        case .boolean: return plain(node, setting.kind, path) { Bool($0) }.map { .boolean($0) }
        case .choice(let names):
            guard let scalar = node.scalar, !Self.isNull(node) else { return mismatch(node, setting.kind, path) }
            guard let text = expand(scalar, path) else { return nil }
            guard names.contains(text) else {
                let meant = Environment.synonyms[text.lowercased()]?.rawValue ?? text
                return fail(
                    path, "\(path): \(Self.quote(scalar.string)) is not one of \(names.joined(separator: ", "))",
                    hint: text == scalar.string
                        ? Suggestion.question(Suggestion.completion(of: meant, among: names)) : nil)
            }
            return .text(text)
        }
    }

    private mutating func text(
        of node: YAMLNode, _ kind: Setting.Kind, _ path: String, bytes: ClosedRange<Int>
    ) -> String? {
        guard let scalar = node.scalar, !Self.isNull(node) else { return mismatch(node, kind, path) }
        guard let text = expand(scalar, path) else { return nil }
        guard bytes.contains(text.utf8.count) else {
            let size = text.isEmpty ? "is empty" : "has \(text.utf8.count) bytes"
            return fail(path, "\(path) \(size); expected \(bytes.lowerBound) to \(bytes.upperBound) bytes")
        }
        guard !text.utf8.contains(0) else { return fail(path, "\(path): expected text without NUL characters") }
        return text
    }

    private mutating func number<Number>(
        of node: YAMLNode, _ kind: Setting.Kind, _ path: String, range: ClosedRange<Number>,
        _ parse: (String) -> Number?
    ) -> Number? {
        guard let number = plain(node, kind, path, parse) else { return nil }
        guard range.contains(number) else {
            let written = node.scalar?.string ?? ""
            return fail(
                path, "\(path): \(written) is out of range; expected \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A value without quotes, which only one with environment variables may have.
    private mutating func plain<Value>(
        _ node: YAMLNode, _ kind: Setting.Kind, _ path: String, _ parse: (String) -> Value?
    ) -> Value? {
        guard let scalar = node.scalar, scalar.isPlain || Substitution.isNeeded(in: scalar.string) else {
            return mismatch(node, kind, path)
        }
        guard let text = expand(scalar, path) else { return nil }
        guard let value = parse(text) else { return mismatch(node, kind, path) }
        return value
    }

    private mutating func expand(_ scalar: YAMLNode.Scalar, _ path: String) -> String? {
        do {
            let text = try Substitution.expand(scalar.string, environment: environment)
            if Substitution.isNeeded(in: scalar.string) { values.written[path] = scalar.string }
            return text
        } catch {
            return fail(path, "\(path): \(error.message)")
        }
    }

    private mutating func checkCount(_ count: Int, _ range: ClosedRange<Int>, _ path: String) {
        guard !range.contains(count) else { return }
        report(path, "\(path) has \(count) elements; expected \(range.lowerBound) to \(range.upperBound)")
    }

    private mutating func mismatch<Value>(
        _ node: YAMLNode, _ kind: Setting.Kind, _ path: String, hint: String? = nil
    ) -> Value? {
        fail(path, "\(path): expected \(kind.expectation), found \(Self.kind(of: node))", hint: hint)
    }

    private mutating func fail<Value>(_ path: String, _ message: String, hint: String? = nil) -> Value? {
        report(path, message, hint: hint)
        return nil
    }

    private mutating func report(_ node: YAMLNode, _ message: String, hint: String? = nil) {
        report(.error, at: node.location, message, hint)
    }

    private mutating func report(_ path: String, _ message: String, hint: String? = nil) {
        report(.error, at: values.location(of: path), message, hint)
    }

    /// A sibling with a similar name, else the same name elsewhere.
    private func hint(for name: String, among settings: [Setting]) -> String? {
        if name == "<<" { return "merge keys are not supported: repeat the keys" }
        if let key = Suggestion.completion(of: name, among: settings.map(\.key)) { return Suggestion.question(key) }
        let normal = Suggestion.normal(name)
        let elsewhere = Schema.settings.filter { Suggestion.normal($0.key) == normal }
        guard elsewhere.count == 1, let only = elsewhere.first else { return nil }
        return "did you mean \(only.path)?"
    }

    /// The section with a similar name, if the value has its form.
    private static func section(for name: String, _ value: YAMLNode, among settings: [Setting]) -> String? {
        let meant = Suggestion.completion(of: name, among: settings.map(\.key))
        switch settings.first(where: { $0.key == meant })?.kind {
        case .section?: return value.mapping == nil ? nil : meant
        case .list(.section, _)?: return value.sequence == nil ? nil : meant
        default: return nil
        }
    }

    private static func within(_ path: String) -> String {
        path.isEmpty ? "" : " in \(path)"
    }

    private static func join(_ path: String, _ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    private static func quote(_ text: String) -> String {
        text.count <= 40 ? "\"\(text)\"" : "\"\(text.prefix(40))…\""
    }

    private static func isNull(_ node: YAMLNode) -> Bool {
        guard let scalar = node.scalar, scalar.isPlain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    private static func kind(of node: YAMLNode) -> String {
        switch node.content {
        case .mapping: return "keys and values"
        case .sequence: return "a list"
        case .scalar(let scalar):
            if isNull(node) { return "nothing" }
            guard scalar.isPlain else { return "text" }
            if scalar.string == "true" || scalar.string == "false" { return "a boolean" }
            if Int(scalar.string) != nil { return "an integer" }
            guard Double(scalar.string) != nil else { return "text" }
            if scalar.string.contains(".") { return "a number with a fraction" }
            let isDecimal = scalar.string.utf8.allSatisfy { "+-0123456789".utf8.contains($0) }
            return isDecimal ? "a number beyond 64 bits" : "a number that is not in decimal digits"
        }
    }
}

extension Setting.Kind {
    /// The expected value, for "expected …".
    var expectation: String {
        switch self {
        case .section: "keys and values"
        case .file: "a file's path"
        case .choice(let names): "one of \(names.joined(separator: ", "))"
        case .integer: "an integer"
        case .text, .boolean: typeName
        case .number, .list: "a \(typeName)"
        }
    }
}
