import Core
import HTTP2

/// Writes the header blocks of one connection's requests.
///
/// APNs keeps a small HPACK table and documents its use:
/// - `:path` and `authorization` are not indexed (nghttp2 does that by itself).
/// - `apns-id`, `apns-request-id`, `apns-expiration` and `apns-collapse-id` are indexed once, for their names.
/// - Everything else is indexed; of the topics only the first ones, because many of them would displace each other.
///
/// Sources: "Sending notification requests to APNs"; for broadcasts "Sending broadcast push notification requests to
/// APNs"; for channels "Sending channel management requests to APNs".
///
/// Most notifications of a connection have the same type, priority and provider token. Their fields are prepared once
/// and kept; only the path, the id, the topic, the expiration and the collapse id are written for each notification.
struct RequestWriter {
    /// The maximum of a connection's topics that are indexed.
    static let maximumIndexedTopics = 16

    private let authority: [UInt8]
    private var indexedTopics: [[UInt8]] = []
    /// What the kept fields depend on.
    private var prepared: (pushType: PushType, priority: Priority?, expires: Bool, tokenGeneration: UInt32?)?
    private var scratch: [UInt8] = []
    private var knowsID = false
    private var knowsRequestID = false
    private var knowsExpiration = false
    private var knowsCollapseID = false

    /// - Parameter authority: the host, with the port unless it is 443. Source: RFC 9113, section 8.3.1.
    init(authority: String) {
        self.authority = Array(authority.utf8)
        scratch.reserveCapacity(256)
    }

    mutating func write(
        _ request: borrowing APNsRequest, authorization: ProviderToken?, to fields: inout HeaderFields
    ) {
        let content = request.notification.content
        switch request.notification.target {
        case .device(let token):
            prepare(request, authorization: authorization, in: &fields)
            let idIndex = authorization == nil ? 4 : 5
            fields.replaceValue(at: 2, "/3/device/", token.hex.span)
            let knewID = Self.note(&knowsID)
            request.id.withText { fields.replaceValue(at: idIndex, $0, neverIndexed: knewID) }
            if let expiration = content.expiration {
                let knewExpiration = format(expiration)
                fields.replaceValue(at: idIndex + 2, scratch.span, neverIndexed: knewExpiration)
            }
            // It is the last of the kept fields.
            let topic = request.topic
            fields.replaceValue(at: fields.keptCount - 1, topic.span, neverIndexed: !isIndexed(topic))
            if let collapseID = content.collapseID {
                fields.add("apns-collapse-id", collapseID.span, neverIndexed: Self.note(&knowsCollapseID))
            }
        case .channel(let channelID):
            begin("POST", path: "/4/broadcasts/apps/", request.topic, "", authorization, in: &fields)
            fields.add("apns-channel-id", channelID.span)
            addRequestID(request.id, to: &fields)
            fields.add("apns-push-type", content.pushType.name)
            if let expiration = content.expiration {
                let knewExpiration = format(expiration)
                fields.add("apns-expiration", scratch.span, neverIndexed: knewExpiration)
            }
            if let priority = content.priority { fields.add("apns-priority", priority.name) }
        case .management(let operation):
            let collection: StaticString = operation == .list ? "/all-channels" : "/channels"
            begin(operation.method, path: "/1/apps/", request.topic, collection, authorization, in: &fields)
            if let channelID = operation.channelID { fields.add("apns-channel-id", channelID.span) }
            addRequestID(request.id, to: &fields)
        }
    }

    /// Starts a notification with the kept fields, or prepares them, in the order of Apple's example. The values of
    /// `:path`, `apns-id`, `apns-expiration` and `apns-topic` are empty.
    private mutating func prepare(
        _ request: borrowing APNsRequest, authorization: ProviderToken?, in fields: inout HeaderFields
    ) {
        let content = request.notification.content
        if let prepared, prepared.pushType == content.pushType, prepared.priority == content.priority,
            prepared.expires == (content.expiration != nil), prepared.tokenGeneration == authorization?.generation
        {
            return fields.removeAdded()
        }
        begin("POST", path: "", [], "", authorization, in: &fields)
        fields.add("apns-id", "")
        fields.add("apns-push-type", content.pushType.name)
        if content.expiration != nil { fields.add("apns-expiration", "") }
        if let priority = content.priority { fields.add("apns-priority", priority.name) }
        fields.add("apns-topic", "")
        fields.keep()
        prepared = (content.pushType, content.priority, content.expiration != nil, authorization?.generation)
    }

    private mutating func isIndexed(_ topic: ArraySlice<UInt8>) -> Bool {
        for known in indexedTopics where known.span.equals(topic.span) { return true }
        guard indexedTopics.count < Self.maximumIndexedTopics else { return false }
        indexedTopics.append(Array(topic))
        return true
    }

    /// Starts a request whose path is `path`, `bundleID` and `collection`.
    private mutating func begin(
        _ method: StaticString, path: StaticString, _ bundleID: ArraySlice<UInt8>, _ collection: StaticString,
        _ authorization: ProviderToken?, in fields: inout HeaderFields
    ) {
        prepared = nil
        fields.removeAll()
        fields.add(":method", method)
        fields.add(":scheme", "https")
        scratch.removeAll(keepingCapacity: true)
        scratch.append(path)
        scratch.append(contentsOf: bundleID)
        scratch.append(collection)
        fields.add(":path", scratch.span)
        fields.add(":authority", authority.span)
        if let authorization { fields.add("authorization", authorization.headerValue.span) }
    }

    /// Adds the id of a request without a device.
    private mutating func addRequestID(_ id: NotificationID, to fields: inout HeaderFields) {
        let knewID = Self.note(&knowsRequestID)
        id.withText { fields.add("apns-request-id", $0, neverIndexed: knewID) }
    }

    /// Writes the seconds into ``scratch``; returns whether the name was sent before.
    private mutating func format(_ expiration: Int64) -> Bool {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(decimal: Int(expiration))
        return Self.note(&knowsExpiration)
    }

    /// - Returns: whether the name was sent before, so that the field is not indexed again.
    private static func note(_ isKnown: inout Bool) -> Bool {
        defer { isKnown = true }
        return isKnown
    }
}
