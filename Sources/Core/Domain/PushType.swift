/// The value of `apns-push-type`; ``rules`` has what Apple's text says about each.
package enum PushType: UInt8, CaseIterable, Sendable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    package init?(name: ArraySlice<UInt8>) {
        // By raw values: `allCases` would make an array, once for each message.
        for raw in Self.alert.rawValue...Self.widgets.rawValue {
            guard let type = PushType(rawValue: raw), name.equals(type.name) else { continue }
            self = type
            return
        }
        return nil
    }

    package var rules: PushTypeRules {
        PushTypeRules.all[Int(rawValue)]
    }

    /// The header's value.
    package var name: StaticString { rules.name }

    /// What Apple appends to the bundle ID to make the topic; empty where the topic is the bundle ID itself (or, for
    /// `mdm`, the UID of the certificate's subject).
    package var topicSuffix: StaticString { rules.topicSuffix }

    /// The largest payload of a notification to a device, in bytes.
    package var maximumPayload: Int { rules.maximumPayload }
}

extension PushType: CustomStringConvertible {
    package var description: String { name.description }
}

/// The value of `apns-priority`; APNs takes 10 where the header is missing.
package enum Priority: UInt8, CaseIterable, Sendable {
    /// Send immediately.
    case immediate = 10
    /// Consider the power of the device.
    case considerate = 5
    /// Put the power of the device above everything else.
    case low = 1

    /// The header's value.
    package var name: StaticString {
        switch self {
        case .immediate: "10"
        case .considerate: "5"
        case .low: "1"
        }
    }
}

/// Which of Apple's two services: `production` for shipped apps, `development` (sandbox) for test builds.
package enum Environment: String, CaseIterable, Sendable {
    case production, development

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

/// Names an app: one topic in both environments is two apps.
package struct AppName: Hashable, Sendable {
    package let topic: String
    package let environment: Environment

    package init(_ topic: String, _ environment: Environment) {
        self.topic = topic
        self.environment = environment
    }
}
