import Core
import HTTP2

/// The effects of device tokens with certain prefixes, so that demonstrations have varied outcomes without a script.
///
/// The prefixes are words in hexadecimal digits, with 0 for o and 1 for l or i.
enum BuiltInTokens {
    static let all: [(prefix: StaticString, actions: [ScriptAction])] = [
        ("dead", [.respond(SimulatedResponse(410, "Unregistered"))]),
        ("fade", [.respond(SimulatedResponse(410, "ExpiredToken"))]),
        ("bad0", [.respond(SimulatedResponse(400, "BadDeviceToken"))]),
        ("0dd0", [.respond(SimulatedResponse(400, "DeviceTokenNotForTopic"))]),
        ("f100d", [.respond(SimulatedResponse(429, "TooManyRequests"))]),
        ("fa11", [.respond(SimulatedResponse(500, "InternalServerError"))]),
        ("0ff0", [.respond(SimulatedResponse(503, "ServiceUnavailable"))]),
        ("1a7e", [.delay(.seconds(1) ... .seconds(1))]),
        ("deaf", [.silence]),
        ("dec1", [.reset(.refusedStream)]),
        ("fa7a1", [.reset(.internalError)]),
        ("c105e", [.goaway(ScriptGoaway(reason: "Shutdown"))]),
        ("cede", [.goaway(ScriptGoaway(reason: "Shutdown", last: .before))]),
        ("cab1e", [.cut]),
    ]
}
