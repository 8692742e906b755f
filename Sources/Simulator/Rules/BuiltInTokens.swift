import Core
import HTTP2

/// The effects of device tokens with certain prefixes, so that demonstrations have varied outcomes without a script.
///
/// The prefixes are words in hexadecimal digits, with 0 for o and 1 for l or i.
enum BuiltInTokens {
    struct Entry: Sendable {
        let prefix: StaticString
        let actions: [ScriptAction]
    }

    static let all: [Entry] = [
        Entry(prefix: "dead", actions: [.respond(SimulatedResponse(410, "Unregistered"))]),
        Entry(prefix: "fade", actions: [.respond(SimulatedResponse(410, "ExpiredToken"))]),
        Entry(prefix: "bad0", actions: [.respond(SimulatedResponse(400, "BadDeviceToken"))]),
        Entry(prefix: "0dd0", actions: [.respond(SimulatedResponse(400, "DeviceTokenNotForTopic"))]),
        Entry(prefix: "f100d", actions: [.respond(SimulatedResponse(429, "TooManyRequests"))]),
        Entry(prefix: "fa11", actions: [.respond(SimulatedResponse(500, "InternalServerError"))]),
        Entry(prefix: "0ff0", actions: [.respond(SimulatedResponse(503, "ServiceUnavailable"))]),
        Entry(prefix: "1a7e", actions: [.delay(.seconds(1) ... .seconds(1))]),
        Entry(prefix: "deaf", actions: [.silence]),
        Entry(prefix: "dec1", actions: [.reset(.refusedStream)]),
        Entry(prefix: "fa7a1", actions: [.reset(.internalError)]),
        Entry(prefix: "c105e", actions: [.goaway(ScriptGoaway(reason: "Shutdown"))]),
        Entry(prefix: "cede", actions: [.goaway(ScriptGoaway(reason: "Shutdown", last: .before))]),
        Entry(prefix: "cab1e", actions: [.cut]),
    ]

    /// - Parameter token: in lower case.
    static func entry(for token: ArraySlice<UInt8>) -> Entry? {
        all.first { token.hasPrefix($0.prefix) }
    }
}
