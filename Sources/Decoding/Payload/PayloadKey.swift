import Core

/// One key that Apple defines for a payload, with its allowed values.
struct PayloadKey: Sendable {
    let name: StaticString
    let kinds: Kinds
    let values: Values
    let scope: Scope
    let need: Need
    /// The container of the value's own keys, if Apple lists them.
    let nested: Nested?

    init(
        _ name: StaticString, _ kinds: Kinds, _ values: Values = .any, _ scope: Scope = .every,
        need: Need = .optional, nested: Nested? = nil
    ) {
        self.name = name
        self.kinds = kinds
        self.values = values
        self.scope = scope
        self.need = need
        self.nested = nested
    }

    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt8

        static let object = Kinds(rawValue: 1)
        static let strings = Kinds(rawValue: 2)
        static let string = Kinds(rawValue: 4)
        static let number = Kinds(rawValue: 8)
        static let boolean = Kinds(rawValue: 16)
    }

    /// Apple's restrictions of a value beyond its type.
    enum Values: Sendable {
        case any, one, zeroOrOne, fraction, seconds, interruptionLevel, event
    }

    enum Scope: Equatable, Sendable {
        case every
        case only(PushType)
        case except(PushType)
        /// The push types that reload: controls and widgets.
        case reloads
    }

    /// When a key is required, within its scope.
    enum Need: Sendable {
        case optional, always
        /// At least one of the keys with this need, in an alert.
        case oneInAlert
        /// The same, and required at the start of a Live Activity.
        case oneInAlertOrToStart
        case toStart, toStartOrUpdate
    }

    /// The dictionaries within `aps` whose keys Apple lists.
    enum Nested: Sendable {
        case alert, sound, title, body
    }
}

enum LiveActivityEvent: String {
    case start, update, end
}

extension PayloadKey {
    /// The expected value, for "expected …".
    var expectation: String {
        switch values {
        case .any: kinds.words
        case .one: "the number 1"
        case .zeroOrOne: "the number 0 or 1"
        case .fraction: "a number from 0 to 1"
        case .seconds: "a number of seconds since 1970"
        case .interruptionLevel: "passive, active, time-sensitive or critical"
        case .event: "start, update or end"
        }
    }
}

extension PayloadKey.Kinds {
    /// An array is valid only if its elements are, which the caller must check.
    func take(_ kind: JSONValue.Kind) -> Bool {
        switch kind {
        case .object: contains(.object)
        case .string: contains(.string)
        case .number: contains(.number)
        case .boolean: contains(.boolean)
        case .array, .null: false
        }
    }

    fileprivate var words: String {
        let names: [(PayloadKey.Kinds, String)] = [
            (.object, "an object"), (.string, "a string"), (.strings, "an array of strings"), (.number, "a number"),
            (.boolean, "a boolean"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: " or ")
    }
}

extension PayloadKey.Scope: CustomStringConvertible {
    func contains(_ type: PushType) -> Bool {
        switch self {
        case .every: true
        case .only(let only): type == only
        case .except(let exception): type != exception
        case .reloads: type == .controls || type == .widgets
        }
    }

    var description: String {
        switch self {
        case .every: "all"
        case .only(let type): "\(type)"
        case .except(let type): "all but \(type)"
        case .reloads: "controls, widgets"
        }
    }
}

extension PayloadKey.Need {
    func holds(for event: LiveActivityEvent?) -> Bool {
        switch self {
        case .optional, .oneInAlert: false
        case .always: true
        case .toStart, .oneInAlertOrToStart: event == .start
        case .toStartOrUpdate: event == .start || event == .update
        }
    }
}
