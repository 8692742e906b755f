import Core
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Decoding

/// A message, a decoder by its name in a configuration, and the result of decoding.
struct DecoderSample {
    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let token2 = "11fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    /// 2026-09-21T14:13:20Z.
    static let now = WallTime(milliseconds: 1_790_000_000_000)

    var body: [UInt8]
    var headers: [(String, OneOffDelivery.HeaderValue)] = []
    var properties: [(String, String)] = []
    var decoder = "auto"
    /// The lines below `decoders:`.
    var decoders = ""

    init(
        _ body: String, decoder: String, decoders: String = "",
        headers: [(String, OneOffDelivery.HeaderValue)] = [], properties: [(String, String)] = []
    ) {
        self.body = Array(body.utf8)
        self.decoder = decoder
        self.decoders = decoders
        self.headers = headers
        self.properties = properties
    }

    init(
        bytes body: [UInt8], decoder: String, decoders: String = "",
        headers: [(String, OneOffDelivery.HeaderValue)] = [], properties: [(String, String)] = []
    ) {
        self.init("", decoder: decoder, decoders: decoders, headers: headers, properties: properties)
        self.body = body
    }

    var delivery: Delivery {
        var delivery = OneOffDelivery(body: body)
        for (name, value) in headers { delivery.add(header: name, value) }
        for (name, value) in properties { precondition(delivery.set(property: name, value), name) }
        return delivery.delivery
    }

    func decoded(at now: WallTime = now) throws -> Decoded {
        let decoder = try #require(try Self.set(decoders)[decoder], "no decoder \(decoder)")
        return decoder.decode(delivery, at: now)
    }

    func request(at now: WallTime = now) throws -> Request {
        try decoded(at: now).get()
    }

    /// The only notification.
    func notification() throws -> Core.Notification {
        let request = try request()
        try #require(request.notifications.count == 1)
        return request.notifications[0]
    }

    /// The reason for its refusal; empty if it is accepted.
    func complaint() throws -> String {
        try decoded().failure?.detail ?? ""
    }

    static func set(_ decoders: String) throws -> DecoderSet {
        DecoderSet(try configuration(decoders).decoders)
    }

    static func configuration(_ decoders: String, queue decoder: String = "auto") throws(ConfigurationError)
        -> Configuration
    {
        let list = decoders.isEmpty ? "decoders: []" : "decoders:\n\(decoders)"
        let text = """
            queues: [{ name: q, decoder: \(decoder) }]
            apps: [{ topic: com.example.app, token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ } }]
            \(list)
            """
        return try ConfigurationDocument(
            content: Array(text.utf8), file: "f", environment: { _ in nil },
            readFile: { _ in throw Complaint("no secrets here") }
        ).configuration
    }

    /// Every problem of a configuration with these decoders; the first line below `decoders:` is line 4.
    static func problems(_ decoders: String, queue decoder: String = "auto") -> [String] {
        do {
            _ = try configuration(decoders, queue: decoder)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}

extension Decoded {
    /// The request, or its refusal as an error.
    func get() throws -> Request {
        switch self {
        case .request(let request): return request
        case .reject(let failure): throw failure
        case .ignore(let reason): throw DecodingFailure("ignored: \(reason)")
        case .later(let pause): throw DecodingFailure("later: \(pause)")
        }
    }

    var failure: DecodingFailure? { if case .reject(let failure) = self { failure } else { nil } }
    var pause: Duration? { if case .later(let pause) = self { pause } else { nil } }
    /// Why it is ignored.
    var ignored: String? { if case .ignore(let reason) = self { reason } else { nil } }
}

extension Core.Notification {
    var hex: String? {
        if case .device(let token) = target { string(token.hex) } else { nil }
    }
}
