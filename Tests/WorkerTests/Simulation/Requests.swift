import AMQP
import Core
import SimulatedWorld

/// One message of a simulation, with its possible outcomes.
struct SimulatedRequest {
    enum Kind: CaseIterable {
        case good, dead, bad, rejected, troubled, throttled, late, fanOut, expired, shortLived, invalid, oversize,
            otherApp, lostReply, channel, large, scheduled
    }

    let number: Int
    let kind: Kind
    let body: [UInt8]
    let properties: MessageProperties
    /// `not-before`, in seconds since 1970.
    let notBefore: Int64?
    /// One for each notification, in the order of the fan-out; empty without notifications.
    let deviceTokens: [String]

    /// The message's name in its `correlation_id`. Without one, the checker finds the request by its device token.
    var name: String { "r\(number)" }

    var results: Int { max(1, deviceTokens.count) }

    /// The possible outcomes of a notification when APNs has no faults.
    func outcomes(of position: Int) -> Set<String> {
        // A creation that another connection may have sent to APNs is not sent.
        if kind == .channel { return ["accepted", "undelivered"] }
        guard deviceTokens.indices.contains(position) else { return ["invalid"] }
        if kind == .expired { return ["expired"] }
        if kind == .shortLived { return ["accepted", "expired"] }
        let token = deviceTokens[position]
        for (prefix, outcome) in Self.outcomes where token.hasPrefix(prefix) { return [outcome] }
        return ["accepted"]
    }

    /// Prefixes of device tokens and their outcomes; ``script`` adds one to the simulator's own.
    private static let outcomes = [
        ("dead", "unregistered"), ("bad0", "unregistered"), ("e4e4", "rejected"), ("fa11", "undelivered"),
        ("f100d", "undelivered"), ("zz", "invalid"),
    ]
    static let script = "token e4e4*: 400 BadCollapseId\n"

    /// - Parameters:
    ///   - time: the time of publishing, since the start of the world.
    ///   - usesHeaders: whether it is in header mode, if its kind permits and it has no message id.
    init(number: Int, kind: Kind, at time: Duration = .zero, usesHeaders: Bool = false, random: inout SplitMix64) {
        self.number = number
        self.kind = kind
        let prefixes: [String] =
            switch kind {
            case .good, .expired, .shortLived, .otherApp, .lostReply, .large, .scheduled: ["7"]
            case .dead: ["dead"]
            case .bad: ["bad0"]
            case .rejected: ["e4e4"]
            case .troubled: ["fa11"]
            case .throttled: ["f100d"]
            case .late: ["1a7e"]
            case .fanOut:
                (0..<Int.random(in: 2...6, using: &random)).map { _ in
                    ["7", "7", "dead", "e4e4", "zz"].randomElement(using: &random)!
                }
            case .invalid, .oversize, .channel: []
            }
        deviceTokens = prefixes.enumerated().map { Self.deviceToken($1, number, $0) }
        var properties = MessageProperties()
        properties.correlationID = Array("r\(number)".utf8)
        // Without a message id, requests are identified by their content; an oversize one has neither.
        if Bool.random(using: &random) || kind == .oversize { properties.messageID = Array("m\(number)".utf8) }
        if kind == .lostReply {
            properties.replyTo = Array("nowhere".utf8)
        } else if Int.random(in: 0..<4, using: &random) == 0 {
            properties.replyTo = Array("replies".utf8)
        }
        // In header mode, only the headers tell the requests of one payload apart.
        let isInHeaders = usesHeaders && properties.messageID == nil && Self.inHeaders.contains(kind)
        if isInHeaders {
            properties.correlationID = nil
            properties.contentType = Array("application/vnd.apple.apns+json".utf8)
            properties.headers = [
                "device-token": .string(deviceTokens[0]), "apns-topic": .string(Self.topic(of: kind)),
            ]
        }
        self.properties = properties
        let expiration: Int64? =
            switch kind {
            case .expired: 1_000_000_000
            case .shortLived:
                World.start.wall.seconds + time.components.seconds + Int64.random(in: 0...60, using: &random)
            default: nil
            }
        notBefore =
            kind == .scheduled
            ? World.start.wall.seconds + time.components.seconds + Int64.random(in: -5...400, using: &random) : nil
        body =
            isInHeaders
            ? Array(#"{"aps":{"alert":"for all"}}"#.utf8)
            : Self.body(kind, number, deviceTokens, expiration, notBefore)
    }

    private static let inHeaders: Set<Kind> = [.good, .dead, .bad, .rejected, .otherApp, .lostReply]

    private static func topic(of kind: Kind) -> String {
        kind == .otherApp || kind == .shortLived ? "com.example.other" : "com.example.app"
    }

    private static func body(
        _ kind: Kind, _ number: Int, _ deviceTokens: [String], _ expiration: Int64?, _ notBefore: Int64?
    ) -> [UInt8] {
        switch kind {
        case .invalid: return Array("this is no JSON, number \(number)".utf8)
        case .oversize: return Array("\(number) ".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        case .channel:
            return Array(
                (#"{"apns-topic":"com.example.app","channel":{"operation":"create","#
                    + #""message-storage-policy":\#(number % 2)}}"#).utf8)
        default: break
        }
        let target =
            kind == .fanOut
            ? "\"device-tokens\":[\(deviceTokens.map { "\"\($0)\"" }.joined(separator: ","))]"
            : "\"device-token\":\"\(deviceTokens[0])\""
        let topic = topic(of: kind)
        let expiration = expiration.map { "\"apns-expiration\":\($0)," } ?? ""
        let notBefore = notBefore.map { "\"not-before\":\($0)," } ?? ""
        // More than the smallest flow-control windows, and less than APNs's limit.
        let text = kind == .large ? String(repeating: "x", count: 100 + number * 97 % 3800) : "\(number)"
        return Array(
            #"{\#(target),"apns-topic":"\#(topic)",\#(expiration)\#(notBefore)"payload":{"aps":{"alert":"\#(text)"}}}"#
                .utf8)
    }

    /// 64 digits that identify the notification.
    private static func deviceToken(_ prefix: String, _ number: Int, _ position: Int) -> String {
        let name = String(number, radix: 16) + "c" + String(position)
        return prefix + String(repeating: "0", count: 64 - prefix.count - name.count) + name
    }
}
