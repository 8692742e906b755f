import Core
import XorcMessages

/// `xorc`: push requests of the xorc events, in Protocol Buffers.
///
/// Sources: xray-tech/xorc-events, `notification/*.proto`, `common/rpc.proto`; what becomes of them is what their own
/// consumer does: xray-tech/xorc-notifications, `src/apns2/notifier.rs`, with a2 0.3, `src/request` and `src/client.rs`.
struct XorcDecoder: Decoder {
    /// What the events call an app.
    private struct Universe: Sendable {
        let name: String
        let topic: [UInt8]
        let environment: RequestFields.Value
    }

    /// `type` in the header of a push request.
    static let type = "notification.PushNotification"

    let name = "xorc"
    private let universes: [Universe]

    static let format = DecoderFormat(
        "xorc", version: "1.0.0", "Push requests of the xorc events, in Protocol Buffers.",
        [
            Setting(
                "universes", .sections(count: 0...1024), default: "[]",
                "Whose requests are taken and which app each is; [] takes all, and leaves the app to apns_topic and the headers."
            ),
            Setting("universes[].name", .text(bytes: 1...255), default: nil, "What the events call it."),
            Setting("universes[].apns-topic", .text(bytes: 1...255), default: nil, "The app's bundle ID."),
            Setting(
                "universes[].environment", .choice(["production", "development"]), default: "null",
                "The app's environment, where two apps have one topic."),
        ]
    ) { options in XorcDecoder(&options) }

    private init(_ options: inout DecoderOptions) {
        var universes: [Universe] = []
        for index in 0..<options.values.count("universes") {
            let path = "universes[\(index)]"
            let name = options.text("\(path).name") ?? ""
            if universes.contains(where: { $0.name == name }) {
                options.report("\(path).name", "\"\(name)\" stands above already")
            }
            universes.append(
                Universe(
                    name: name, topic: Array((options.text("\(path).apns-topic") ?? "").utf8),
                    environment: options.text("\(path).environment").map { .text(ArraySlice($0.utf8)) } ?? .missing))
        }
        self.universes = universes
    }

    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        do throws(DecodingFailure) {
            let push: XorcPushNotification
            do throws(XorcFailure) {
                push = try XorcPushNotification(reading: delivery.body)
            } catch {
                throw DecodingFailure("body: not protobuf: \(error.reason)")
            }
            guard push.header.hasType else { throw DecodingFailure("header.type: missing") }
            guard push.header.type == Self.type else { return .ignore(reason: "another event") }
            let kinds = [push.hasApple, push.hasGoogle, push.hasWeb].count { $0 }
            guard kinds == 1 else {
                throw DecodingFailure("type: expected one of apple, google and web, found \(kinds)")
            }
            guard push.hasApple else { return .ignore(reason: "for other platforms") }
            return .request(try request(push, push.apple, delivery))
        } catch {
            return .reject(error)
        }
    }

    private func request(
        _ push: XorcPushNotification, _ apple: XorcAppleNotification, _ delivery: Delivery
    ) throws(DecodingFailure) -> Request {
        guard push.hasDeviceToken else { throw DecodingFailure("device_token: missing") }
        var fields = XorcFields()
        fields.set(.deviceToken, "device_token", .text(ArraySlice(push.deviceToken.utf8)))
        let universe = try universe(of: push)
        let headers = apple.headers
        if headers.hasApnsTopic {
            fields.set(.topic, "apple.headers.apns_topic", .text(ArraySlice(headers.apnsTopic.utf8)))
        } else if let universe {
            fields.all.topic = .text(universe.topic[...])
        }
        if let universe { fields.all.environment = universe.environment }
        if headers.hasApnsPriority {
            fields.set(.priority, "apple.headers.apns_priority", .integer(Int64(headers.apnsPriority)))
        }
        if headers.hasApnsExpiration {
            fields.set(.expiration, "apple.headers.apns_expiration", .integer(headers.apnsExpiration))
        }
        let id = ArraySlice(push.header.correlationID.utf8)
        if NotificationID(id) != nil { fields.all.id = .text(id) }
        var request = try fields.request(payload: try XorcPayload(apple).bytes, delivery)
        if !id.isEmpty { request.key = id }
        for header in TraceHeader.allCases {
            let name = header.name.description
            if let text = push.header.context[name] { request.headers.append((name, ArraySlice(text.utf8))) }
        }
        return request
    }

    /// - Returns: `nil` where it means nothing here.
    private func universe(of push: XorcPushNotification) throws(DecodingFailure) -> Universe? {
        guard !universes.isEmpty else { return nil }
        guard push.hasUniverse else { throw DecodingFailure("universe: missing") }
        guard let universe = universes.first(where: { $0.name == push.universe }) else {
            throw DecodingFailure("universe: not one of the universes configured")
        }
        return universe
    }
}

/// The fields of a request, with the names that the message has for them.
private struct XorcFields {
    var all = RequestFields()
    private var places: [(name: RequestFields.Name, place: StaticString)] = []

    mutating func set(_ name: RequestFields.Name, _ place: StaticString, _ value: RequestFields.Value) {
        all.set(name, value)
        places.append((name, place))
    }

    /// What the message leaves open is taken from the headers around it.
    mutating func request(payload: [UInt8], _ delivery: Delivery) throws(DecodingFailure) -> Request {
        all.fill(from: delivery)
        // Their client always sends a priority, and this one where none is given.
        if case .missing = all.priority { all.priority = .integer(Int64(Priority.considerate.rawValue)) }
        all.defaultPushType = .alert
        do throws(DecodingFailure) {
            return try all.request(payload: payload[...])
        } catch {
            throw located(error)
        }
    }

    /// The failure under the name that the producer knows.
    private func located(_ failure: DecodingFailure) -> DecodingFailure {
        for (name, place) in places {
            guard let rest = failure.detail.dropPrefix("\(name.text): ") else { continue }
            return DecodingFailure("\(place): \(rest)", limit: failure.limit)
        }
        return failure
    }
}

/// The payload that their consumer makes of a notification.
private struct XorcPayload {
    let bytes: [UInt8]

    init(_ apple: XorcAppleNotification) throws(DecodingFailure) {
        var payload = PayloadComposer()
        payload.add("aps", try Self.aps(apple))
        if apple.hasCustomData { try Self.add(apple.customData, to: &payload) }
        bytes = payload.end()
    }

    private static func aps(_ apple: XorcAppleNotification) throws(DecodingFailure) -> PayloadComposer {
        var aps = PayloadComposer()
        let kinds = [apple.hasLocalized, apple.hasPlain, apple.hasSilent].count { $0 }
        guard kinds <= 1 else {
            throw DecodingFailure("apple.type: expected one of localized, plain and silent, found \(kinds)")
        }
        if apple.hasSilent {
            // Nothing else goes with it.
            aps.add("content-available", json: "1".utf8)
            return aps
        }
        if apple.hasLocalized {
            aps.add("alert", try alert(apple.localized))
        } else {
            // A text that is empty is what they make of no alert.
            aps.add("alert", apple.plain)
        }
        if apple.hasBadge { aps.add("badge", json: "\(apple.badge)".utf8) }
        if apple.hasSound { aps.add("sound", apple.sound) }
        if apple.hasCategory { aps.add("category", apple.category) }
        if apple.localized.mutableContent { aps.add("mutable-content", json: "1".utf8) }
        return aps
    }

    private static func alert(_ alert: XorcAppleLocalizedAlert) throws(DecodingFailure) -> PayloadComposer {
        guard alert.hasTitle else { throw DecodingFailure("apple.localized.title: missing") }
        guard alert.hasBody else { throw DecodingFailure("apple.localized.body: missing") }
        var object = PayloadComposer()
        object.add("title", alert.title)
        object.add("body", alert.body)
        if alert.hasTitleLocKey { object.add("title-loc-key", alert.titleLocKey) }
        object.add("title-loc-args", alert.titleLocArgs)
        if alert.hasActionLocKey { object.add("action-loc-key", alert.actionLocKey) }
        if alert.hasLocKey { object.add("loc-key", alert.locKey) }
        object.add("loc-args", alert.locArgs)
        if alert.hasLaunchImage { object.add("launch-image", alert.launchImage) }
        return object
    }

    /// Its value goes out as it stands there.
    private static func add(_ data: XorcCustomData, to payload: inout PayloadComposer) throws(DecodingFailure) {
        guard data.hasKey else { throw DecodingFailure("apple.custom_data.key: missing") }
        guard data.hasBody else { throw DecodingFailure("apple.custom_data.body: missing") }
        guard data.key != "aps" else {
            throw DecodingFailure("apple.custom_data.key: aps is made of the other fields")
        }
        do throws(JSONFailure) {
            let body = try JSONPart(ArraySlice(data.body.utf8), depth: 1)
            payload.add(key: ArraySlice(data.key.utf8), json: body.raw)
        } catch {
            throw DecodingFailure(error, in: "apple.custom_data.body")
        }
    }
}

extension PayloadComposer {
    fileprivate mutating func add(_ name: StaticString, _ text: String) {
        add(name, text: ArraySlice(text.utf8))
    }

    /// An array of texts; nothing where there is none.
    fileprivate mutating func add(_ name: StaticString, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        var array: [UInt8] = []
        for text in texts {
            array.append(array.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            array.appendJSON(string: ArraySlice(text.utf8))
        }
        array.append(UInt8(ascii: "]"))
        add(name, json: array)
    }
}
