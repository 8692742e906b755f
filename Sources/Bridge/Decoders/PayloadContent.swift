import Core

/// What `aps` says, as far as it tells the push type.
struct PayloadContent {
    private var hasAlert = false
    private var hasContentAvailable = false
    private var hasEvent = false
    private var hasContentState = false

    /// - Parameter payload: a JSON object, checked already.
    init(_ payload: ArraySlice<UInt8>) {
        do {
            try scan(payload)
        } catch {
            preconditionFailure("a payload is checked before it is asked what it says")
        }
    }

    /// The push type, where the payload leaves no doubt. A Live Activity's update may have an alert of its own.
    ///
    /// Source: "Know when to use push types".
    var pushType: PushType? {
        if hasEvent && hasContentState { return .liveactivity }
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
            let value = try scanner.value(bytes, depth: 1)
            guard payload.text(of: key)?.equals("aps") == true else { continue }
            self = try PayloadContent(value, in: payload)
        }
    }

    private init(_ aps: JSONValue, in payload: ArraySlice<UInt8>) throws(JSONFailure) {
        guard aps.kind == .object else { return }
        let bytes = payload.span
        var scanner = JSONScanner(at: aps.range.lowerBound)
        guard scanner.open(bytes, "{") else { return }
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            let value = try scanner.value(bytes, depth: 2)
            guard value.kind != .null, let name = payload.text(of: key) else { continue }
            if name.equals("alert") || name.equals("badge") || name.equals("sound") {
                hasAlert = true
            } else if name.equals("content-available") {
                hasContentAvailable = payload.slice(value.range).equals("1")
            } else if name.equals("event") {
                hasEvent = value.kind == .string
            } else if name.equals("content-state") {
                hasContentState = value.kind == .object
            }
        }
    }
}
