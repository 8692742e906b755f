import Core

/// The parts of `aps` that determine the push type.
struct PayloadContent {
    private var hasAlert = false
    private var hasContentAvailable = false
    private var hasEvent = false

    /// - Parameter payload: a validated JSON object.
    init(_ payload: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = payload.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else { return }
        while let key = try scanner.nextKey(bytes) {
            let isAps = bytes.isText(key, "aps")
            // The last one counts.
            if isAps { (hasAlert, hasContentAvailable, hasEvent) = (false, false, false) }
            if isAps, scanner.open(bytes, "{") {
                try readAps(&scanner, bytes)
            } else {
                _ = try scanner.value(bytes, depth: 1)
            }
        }
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

    private mutating func readAps(_ scanner: inout JSONScanner, _ bytes: Span<UInt8>) throws(JSONFailure) {
        while let name = try scanner.nextKey(bytes) {
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
