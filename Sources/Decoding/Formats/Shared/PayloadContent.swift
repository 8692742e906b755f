import Core

/// The parts of `aps` that determine the push type.
struct PayloadContent {
    private var hasAlert = false
    private var hasContentAvailable = false
    private var hasEvent = false

    /// - Parameter payload: a validated JSON object.
    init(_ payload: ArraySlice<UInt8>) throws(JSONFailure) {
        try scan(payload)
    }

    /// The push type, if the payload determines it. An event of a Live Activity can have an alert, and its end needs
    /// no content state.
    ///
    /// Source: "Know when to use push types".
    var pushType: PushType? {
        if hasEvent { return .liveactivity }
        if hasAlert { return .alert }
        return hasContentAvailable ? .background : nil
    }

    private mutating func scan(_ payload: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = payload.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else { return }
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            if bytes.isText(key, "aps") {
                self = try PayloadContent(aps: &scanner, bytes)
            } else {
                _ = try scanner.value(bytes, depth: 1)
            }
        }
    }

    /// - Parameter scanner: is at the value of `aps`.
    private init(aps scanner: inout JSONScanner, _ bytes: Span<UInt8>) throws(JSONFailure) {
        guard scanner.open(bytes, "{") else {
            _ = try scanner.value(bytes, depth: 1)
            return
        }
        var isFirst = true
        while let name = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            let value = try scanner.value(bytes, depth: 2)
            guard value.kind != .null else { continue }
            if bytes.isText(name, "alert") || bytes.isText(name, "badge") || bytes.isText(name, "sound") {
                hasAlert = true
            } else if bytes.isText(name, "content-available") {
                hasContentAvailable = value.kind == .number && bytes.number(value) == 1
            } else if bytes.isText(name, "event") {
                hasEvent = value.kind == .string
            }
        }
    }
}
