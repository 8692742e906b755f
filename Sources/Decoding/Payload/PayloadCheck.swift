package import Core

/// Checks a payload against Apple's tables of keys.
///
/// It reads the bytes once, builds no tree, changes nothing, and allocates only for findings.
///
/// Sources: those of ``PayloadTable``; "Sending notification requests to APNs", `apns-push-type`: "The value of this
/// header must accurately reflect the contents of your notification's payload."
package struct PayloadCheck {
    private let type: PushType
    private let isBroadcast: Bool
    private var scanner = JSONScanner()
    private var findings = PayloadFindings()
    private var event: LiveActivityEvent?
    private var hasInteraction = false
    private var isAlertEmpty = false
    /// Whether there are objects or arrays whose keys Apple does not list.
    private var hasForeignObjects = false

    /// - Parameter topic: the app's; `nil` if there is none.
    /// - Returns: `nil` for channel management, whose payload is not a notification, and for a pass, which is updated
    ///   with an empty `aps`.
    package static func findings(
        in notification: Notification, topic: ArraySlice<UInt8>? = nil
    ) -> PayloadFindings? {
        guard (notification.topic ?? topic)?.starts(with: "pass.".utf8) != true else { return nil }
        var isBroadcast = false
        switch notification.target {
        case .management: return nil
        case .channel: isBroadcast = true
        case .device: break
        }
        var findings = findings(in: notification.payload, for: notification.pushType, isBroadcast: isBroadcast)
        // A broadcast may have 1.
        if notification.pushType == .liveactivity, !isBroadcast, notification.content.priority == .low {
            findings.add("apns-priority", "expected 10 or 5 for push type liveactivity, found 1")
        }
        return findings
    }

    /// - Parameter isBroadcast: whether it is sent to a channel instead of a device.
    package static func findings(
        in payload: ArraySlice<UInt8>, for type: PushType, isBroadcast: Bool
    ) -> PayloadFindings {
        var check = PayloadCheck(type: type, isBroadcast: isBroadcast)
        do {
            try check.checkPayload(payload.span)
        } catch {
            check.findings.add("payload", "not JSON: expected \(error.expectation) at byte \(error.offset)")
        }
        if check.hasForeignObjects, let path = KombuValue.path(in: payload) {
            check.findings.add("payload", foreignPath: path, KombuValue.complaint)
        }
        return check.findings
    }

    private mutating func checkPayload(_ bytes: Span<UInt8>) throws(JSONFailure) {
        guard scanner.open(bytes, "{") else {
            let value = try scanner.value(bytes, depth: 0)
            return findings.add("payload", "expected an object, found \(value.kind.name)")
        }
        var hasAps = false
        while let key = try scanner.nextKey(bytes) {
            if bytes.isText(key, "aps") {
                if hasAps { findings.add("\(PayloadTable.aps.path)", "comes twice") }
                hasAps = true
                try checkAps(bytes)
            } else {
                checkPlace(of: key, bytes)
                try readForeign(bytes, "payload", bytes.pathPart(key), depth: 1)
            }
        }
        try scanner.end(bytes)
        if !hasAps, type.rules.needsAps {
            findings.add("\(PayloadTable.aps.path)", "missing, expected an object for push type \(type)")
        }
    }

    /// Adds a finding for flags of Apple's beside `aps`, where they have no effect.
    private mutating func checkPlace(of key: JSONValue, _ bytes: Span<UInt8>) {
        guard 14...17 ~= key.range.count, [UInt8(ascii: "m"), UInt8(ascii: "c")].contains(bytes[key.range.lowerBound])
        else { return }
        let word = Suggestion.normal(bytes.pathPart(key)).dropFirst()
        for flag in ["mutable-content", "content-available"] where word.elementsEqual(Suggestion.normal(flag)) {
            findings.add("payload", foreignPath: bytes.pathPart(key), "belongs in aps as \(flag)")
        }
    }

    private mutating func checkAps(_ bytes: Span<UInt8>) throws(JSONFailure) {
        let table = PayloadTable.aps
        guard scanner.open(bytes, "{") else {
            let value = try scanner.value(bytes, depth: 1)
            return findings.add("\(table.path)", "expected an object, found \(value.kind.name)")
        }
        let seen = try checkKeys(of: table, bytes, depth: 2)
        for index in table.keys.indices where table.keys[index].need.holds(for: event) {
            let key = table.keys[index]
            let isMissing = seen & 1 << index == 0
            guard isMissing || isAlertEmpty && key.nested == .alert, key.scope.contains(type) else { continue }
            let cause = key.need == .always ? "push type \(type)" : "event \(event?.rawValue ?? "")"
            findings.add(
                "\(table.path).\(key.name)",
                "\(isMissing ? "missing" : "empty"), expected \(key.expectation) for \(cause)")
        }
        if !hasInteraction, type == .alert {
            findings.add("\(table.path)", "expected alert, badge or sound for push type alert")
        }
        if isBroadcast, event == .start {
            findings.add("\(table.path).event", "expected update or end; a broadcast cannot start a Live Activity")
        }
    }

    /// Reads a dictionary after its opening bracket.
    ///
    /// - Parameter depth: the number of brackets open around its values.
    /// - Returns: one bit for each table row that was found.
    private mutating func checkKeys(
        of table: PayloadTable, _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONFailure) -> UInt32 {
        var seen: UInt32 = 0
        while let name = try scanner.nextKey(bytes) {
            guard let row = bytes.withText(of: name, { table.row(named: $0, for: type) }) else {
                let part = bytes.pathPart(name)
                try readForeign(bytes, "\(table.path)", part, depth: depth)
                findings.add("\(table.path)", foreignPath: part, Self.unknown(part, in: table, for: type))
                // The dictionary of these keys may be a wrapped value of Python (``KombuValue``).
                hasForeignObjects = true
                continue
            }
            let key = table.keys[row]
            if seen & 1 << row != 0 { findings.add("\(table.path).\(key.name)", "comes twice") }
            seen |= 1 << row
            guard key.scope.contains(type) else {
                try readForeign(bytes, "\(table.path).\(key.name)", depth: depth)
                findings.add("\(table.path).\(key.name)", "not for push type \(type) (for \(key.scope))")
                continue
            }
            if key.need == .oneInAlert || key.need == .oneInAlertOrToStart { hasInteraction = true }
            try checkValue(of: key, in: table, bytes, depth: depth)
        }
        return seen
    }

    private mutating func checkValue(
        of key: PayloadKey, in table: PayloadTable, _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONFailure) {
        if let nested = key.nested, scanner.open(bytes, "{") {
            let seen = try checkKeys(of: .nested(nested), bytes, depth: depth + 1)
            if nested == .alert { isAlertEmpty = seen == 0 }
            return
        }
        if key.kinds.contains(.strings), scanner.open(bytes, "[") {
            return try checkElements(of: key, in: table, bytes, depth: depth + 1)
        }
        let value = try readForeign(bytes, "\(table.path).\(key.name)", depth: depth, isDescribed: true)
        if !key.kinds.take(value.kind) {
            findings.add("\(table.path).\(key.name)", "expected \(key.expectation), found \(value.kind.name)")
        } else if !takes(value, key.values, bytes) {
            findings.add("\(table.path).\(key.name)", "expected \(key.expectation)")
        }
    }

    /// Reads a value with contents that Apple's tables do not describe.
    ///
    /// - Parameter isDescribed: whether the tables describe the value itself; the caller then checks its type.
    @discardableResult
    private mutating func readForeign(
        _ bytes: Span<UInt8>, _ path: @autoclosure () -> String, _ foreignPath: @autoclosure () -> String = "",
        depth: Int, isDescribed: Bool = false
    ) throws(JSONFailure) -> JSONValue {
        let nulls = scanner.nulls
        let value = try scanner.value(bytes, depth: depth)
        if value.kind == .object || value.kind == .array { hasForeignObjects = true }
        if scanner.nulls > nulls, !isDescribed || value.kind != .null {
            try findNulls(in: value, bytes, path(), foreignPath())
        }
        return value
    }

    /// Adds a finding for each null, also within objects and arrays.
    private mutating func findNulls(
        in value: JSONValue, _ bytes: Span<UInt8>, _ path: String, _ foreignPath: String
    ) throws(JSONFailure) {
        var inner = JSONScanner(at: value.range.lowerBound)
        if value.kind == .null {
            findings.add(
                path, foreignPath: foreignPath,
                "expected an object, an array, a string, a number or a boolean, found null")
        } else if value.kind == .object, inner.open(bytes, "{") {
            while let key = try inner.nextKey(bytes) {
                try findNulls(in: try inner.value(bytes, depth: 0), bytes, path, foreignPath + bytes.pathPart(key))
            }
        } else if value.kind == .array, inner.open(bytes, "[") {
            var index = 0
            while try inner.nextElement(bytes) {
                try findNulls(in: try inner.value(bytes, depth: 0), bytes, path, "\(foreignPath)[\(index)]")
                index += 1
            }
        }
    }

    private mutating func checkElements(
        of key: PayloadKey, in table: PayloadTable, _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONFailure) {
        var index = 0
        while try scanner.nextElement(bytes) {
            let kind = try readForeign(
                bytes, "\(table.path).\(key.name)[\(index)]", depth: depth, isDescribed: true
            ).kind
            if kind != .string {
                findings.add("\(table.path).\(key.name)[\(index)]", "expected a string, found \(kind.name)")
            }
            index += 1
        }
    }

    private mutating func takes(_ value: JSONValue, _ values: PayloadKey.Values, _ bytes: Span<UInt8>) -> Bool {
        switch values {
        case .any:
            return true
        case .one:
            return bytes.number(value) == 1
        case .zeroOrOne:
            let number = bytes.number(value)
            return number == 0 || number == 1
        case .fraction:
            return 0...1 ~= bytes.number(value)
        case .seconds:
            // The upper bound, in the year 5138, distinguishes seconds from milliseconds.
            return 0..<100_000_000_000 ~= bytes.number(value)
        case .interruptionLevel:
            return bytes.isText(value, "passive") || bytes.isText(value, "active")
                || bytes.isText(value, "time-sensitive") || bytes.isText(value, "critical")
        case .event:
            event = nil
            if bytes.isText(value, "start") { event = .start }
            if bytes.isText(value, "update") { event = .update }
            if bytes.isText(value, "end") { event = .end }
            return event != nil
        }
    }

    private static func unknown(_ part: String, in table: PayloadTable, for type: PushType) -> String {
        let name = String(part.dropFirst())
        if table.isFormer(name[...]) { return "no longer in Apple's tables" }
        let word = Suggestion.normal(name)
        for other in [PayloadTable.aps, .alert] where other.path.description != table.path.description {
            guard let meant = other.names(for: type).first(where: { Suggestion.normal($0) == word }) else { continue }
            return "belongs in \(other.path)" + (meant == name ? "" : " as \(meant)")
        }
        if let meant = Suggestion.closest(to: name, among: table.names(for: type)) {
            return "not a key of Apple's; did you mean \"\(meant)\"?"
        }
        return "not a key of Apple's; move custom keys out of aps, where APNs ignores them"
    }
}
