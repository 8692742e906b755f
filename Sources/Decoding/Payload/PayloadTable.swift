import Core

/// A dictionary of the payload with the keys that Apple lists.
struct PayloadTable: Sendable {
    /// The dictionary's JSON path.
    let path: StaticString
    /// A name can occur twice, with rows for different push types.
    let keys: [PayloadKey]

    /// Sources: "Generating a remote notification", Table 1; for Live Activities also "Starting and updating Live
    /// Activities with ActivityKit push notifications"; for `content-changed` "Updating controls locally and remotely"
    /// and "Updating widgets with WidgetKit push notifications".
    static let aps = PayloadTable(
        path: "payload.aps",
        keys: [
            PayloadKey(
                "alert", [.object, .string], .any, .except(.background), need: .oneInAlertOrToStart, nested: .alert),
            PayloadKey("badge", .number, .any, .except(.background), need: .oneInAlert),
            PayloadKey("sound", [.object, .string], .any, .except(.background), need: .oneInAlert, nested: .sound),
            PayloadKey("thread-id", .string),
            PayloadKey("category", .string),
            PayloadKey("content-available", .number, .one, .only(.background), need: .always),
            PayloadKey("content-available", .number, .zeroOrOne, .except(.background)),
            PayloadKey("mutable-content", .number, .zeroOrOne),
            PayloadKey("target-content-id", .string),
            PayloadKey("interruption-level", .string, .interruptionLevel),
            PayloadKey("relevance-score", .number, .fraction, .except(.liveactivity)),
            PayloadKey("relevance-score", .number, .any, .only(.liveactivity)),
            PayloadKey("filter-criteria", .string),
            PayloadKey("stale-date", .number, .seconds, .only(.liveactivity)),
            PayloadKey("content-state", .object, .any, .only(.liveactivity), need: .toStartOrUpdate),
            PayloadKey("timestamp", .number, .seconds, .only(.liveactivity), need: .always),
            PayloadKey("event", .string, .event, .only(.liveactivity), need: .always),
            PayloadKey("dismissal-date", .number, .seconds, .only(.liveactivity)),
            PayloadKey("attributes-type", .string, .any, .only(.liveactivity), need: .toStart),
            PayloadKey("attributes", .object, .any, .only(.liveactivity), need: .toStart),
            PayloadKey("input-push-channel", .string, .any, .only(.liveactivity)),
            PayloadKey("input-push-token", .number, .one, .only(.liveactivity)),
            PayloadKey("content-changed", .boolean, .any, .reloads),
        ])

    /// Sources: "Generating a remote notification", Table 2; for the rows of Live Activities the example in "Sending
    /// broadcast push notification requests to APNs".
    static let alert = PayloadTable(
        path: "payload.aps.alert",
        keys: [
            PayloadKey("title", .string, .any, .except(.liveactivity)),
            PayloadKey("title", [.object, .string], .any, .only(.liveactivity), nested: .title),
            PayloadKey("subtitle", .string),
            PayloadKey("body", .string, .any, .except(.liveactivity)),
            PayloadKey("body", [.object, .string], .any, .only(.liveactivity), nested: .body),
            PayloadKey("launch-image", .string),
            PayloadKey("title-loc-key", .string),
            PayloadKey("title-loc-args", .strings),
            PayloadKey("subtitle-loc-key", .string),
            PayloadKey("subtitle-loc-args", .strings),
            PayloadKey("loc-key", .string),
            PayloadKey("loc-args", .strings),
            PayloadKey("sound", .string, .any, .only(.liveactivity)),
        ])

    static let title = PayloadTable(path: "payload.aps.alert.title", keys: localizedText)
    static let body = PayloadTable(path: "payload.aps.alert.body", keys: localizedText)

    private static let localizedText = [
        PayloadKey("loc-key", .string, .any, .only(.liveactivity)),
        PayloadKey("loc-args", .strings, .any, .only(.liveactivity)),
    ]

    /// Source: "Generating a remote notification", Table 3.
    static let sound = PayloadTable(
        path: "payload.aps.sound",
        keys: [
            PayloadKey("critical", .number, .zeroOrOne),
            PayloadKey("name", .string),
            PayloadKey("volume", .number, .fraction),
        ])

    static func nested(_ name: PayloadKey.Nested) -> PayloadTable {
        switch name {
        case .alert: alert
        case .sound: sound
        case .title: title
        case .body: body
        }
    }

    func names(for type: PushType) -> [String] {
        keys.filter { $0.scope.contains(type) }.map(\.name.description)
    }

    /// Whether Apple described this key in earlier editions of the table.
    func isFormer(_ key: Substring) -> Bool {
        switch path.description {
        case "payload.aps": key == "url-args"
        case "payload.aps.alert": ["action", "action-loc-key", "summary-arg", "summary-arg-count"].contains(key)
        default: false
        }
    }

    /// The row for a name: that of the push type, else one for any type, else `nil`.
    func row(named name: Span<UInt8>, for type: PushType) -> Int? {
        var other: Int?
        for index in keys.indices where name.equals(keys[index].name) {
            if keys[index].scope.contains(type) { return index }
            other = index
        }
        return other
    }
}
