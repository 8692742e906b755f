/// The value of `apns-push-type`; ``rules`` contains Apple's rules for each.
@usableFromInline
package enum PushType: UInt8, CaseIterable, Sendable, CustomStringConvertible {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// Other modules would call the derived one indirectly.
    @inlinable
    package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    package init?(name: ArraySlice<UInt8>) {
        // Iterates over the rows: `allCases` would allocate an array for each message.
        let rows = PushTypeRules.all
        for index in rows.indices where name.equals(rows[index].name) {
            self.init(rawValue: UInt8(index))
            return
        }
        return nil
    }

    package var rules: PushTypeRules {
        PushTypeRules.all[Int(rawValue)]
    }

    package var name: StaticString { rules.name }

    @usableFromInline package var description: String { name.description }
}

/// The value of `apns-priority`; APNs uses 10 if the header is missing.
package enum Priority: UInt8, CaseIterable, Sendable {
    case immediate = 10
    /// Consider the device's power.
    case considerate = 5
    /// Prioritise the device's power over everything else.
    case low = 1

    package var name: StaticString {
        switch self {
        case .immediate: "10"
        case .considerate: "5"
        case .low: "1"
        }
    }
}

/// Apple's two services: `production` for shipped apps, `development` (sandbox) for test builds.
package enum Environment: String, CaseIterable, Sendable {
    case production, development

    /// Other names in use, for suggestions.
    package static let synonyms: [String: Environment] = [
        "sandbox": .development, "test": .development, "debug": .development, "live": .production,
        "release": .production,
    ]

    /// Apple's host. Source: "Establish a connection to APNs".
    package var host: String {
        switch self {
        case .production: "api.push.apple.com"
        case .development: "api.sandbox.push.apple.com"
        }
    }

    /// Apple's host and port for channel management. Source: "Sending channel management requests to APNs".
    package var channelManagement: Endpoint {
        switch self {
        case .production: Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case .development: Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}

/// Identifies an app: one topic in both environments is two apps.
package struct AppName: Hashable, Sendable {
    package let topic: String
    package let environment: Environment

    package init(_ topic: String, _ environment: Environment) {
        self.topic = topic
        self.environment = environment
    }
}
