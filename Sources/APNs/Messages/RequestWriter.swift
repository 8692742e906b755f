import Core
import HTTP2

/// Writes the header blocks of one connection's requests.
///
/// APNs keeps a small HPACK table and documents its use:
/// - `:path` and `authorization` are not indexed (nghttp2 does that by itself).
/// - `apns-id`, `apns-request-id`, `apns-expiration` and `apns-collapse-id` are indexed once, for their names.
/// - Everything else is indexed.
///
/// Sources: "Sending notification requests to APNs"; for broadcasts "Sending broadcast push notification requests to
/// APNs"; for channels "Sending channel management requests to APNs".
struct RequestWriter {
    private let authority: [UInt8]
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

    mutating func write(_ request: borrowing APNsRequest, authorization: ProviderToken?, to http2: HTTP2ClientSession) {
        http2.beginRequest()
        http2.add(":method", request.method)
        http2.add(":scheme", "https")
        scratch.removeAll(keepingCapacity: true)
        request.appendPath(to: &scratch)
        http2.add(":path", scratch.span)
        http2.add(":authority", authority.span)
        if let authorization { http2.add("authorization", authorization.headerValue.span) }
        scratch.removeAll(keepingCapacity: true)
        request.id.append(to: &scratch)
        switch request.target {
        case .device:
            let indexing = Self.onlyOnce(&knowsID)
            http2.add("apns-id", scratch.span, indexing: indexing)
        case .channel(let channelID):
            http2.add("apns-channel-id", channelID.span)
            addRequestID(to: http2)
        case .management(let operation):
            if let channelID = operation.channelID { http2.add("apns-channel-id", channelID.span) }
            return addRequestID(to: http2)
        }
        http2.add("apns-push-type", request.pushType.name)
        if let expiration = request.expiration {
            scratch.removeAll(keepingCapacity: true)
            scratch.append(decimal: Int(expiration))
            let indexing = Self.onlyOnce(&knowsExpiration)
            http2.add("apns-expiration", scratch.span, indexing: indexing)
        }
        if let priority = request.priority { http2.add("apns-priority", priority.name) }
        guard case .device = request.target else { return }
        http2.add("apns-topic", request.topic.span)
        if let collapseID = request.collapseID {
            http2.add("apns-collapse-id", collapseID.span, indexing: Self.onlyOnce(&knowsCollapseID))
        }
    }

    /// Adds the UUID in ``scratch``.
    private mutating func addRequestID(to http2: HTTP2ClientSession) {
        let indexing = Self.onlyOnce(&knowsRequestID)
        http2.add("apns-request-id", scratch.span, indexing: indexing)
    }

    private static func onlyOnce(_ isKnown: inout Bool) -> HTTP2ClientSession.Indexing {
        defer { isKnown = true }
        return isKnown ? .never : .automatic
    }
}

extension APNsRequest {
    fileprivate var method: StaticString {
        switch target {
        case .device, .channel, .management(.create): "POST"
        case .management(.read), .management(.list): "GET"
        case .management(.delete): "DELETE"
        }
    }

    fileprivate func appendPath(to path: inout [UInt8]) {
        switch target {
        case .device(let token):
            path.append("/3/device/")
            path.append(contentsOf: token.hex)
        case .channel:
            path.append("/4/broadcasts/apps/")
            path.append(contentsOf: topic)
        case .management(let operation):
            path.append("/1/apps/")
            path.append(contentsOf: topic)
            path.append(operation == .list ? "/all-channels" : "/channels")
        }
    }
}
