import Core
package import HTTP2

/// The header fields of a request that APNs reads, unmodified.
///
/// APNs ignores all others. Source: "Sending notification requests to APNs" and "Sending broadcast push notification
/// requests to APNs".
package struct RequestHeaders: Sendable {
    package var method: [UInt8]?
    package var path: [UInt8]?
    package var authorization: [UInt8]?
    package var id: [UInt8]?
    package var pushType: [UInt8]?
    package var expiration: [UInt8]?
    package var priority: [UInt8]?
    package var topic: [UInt8]?
    package var collapseID: [UInt8]?
    package var channelID: [UInt8]?
    package var requestID: [UInt8]?
    /// The name of a repeated field.
    package var duplicate: [UInt8]?

    package init(_ headers: [HTTP2Header]) {
        var repeated: [UInt8]?
        func keep(_ header: HTTP2Header, _ field: inout [UInt8]?) {
            if field != nil { repeated = header.name }
            field = header.value
        }
        for header in headers {
            let name = header.name
            switch name.count {
            case 5 where name.equals(":path"): keep(header, &path)
            case 7 where name.equals("apns-id"): keep(header, &id)
            case 7 where name.equals(":method"): keep(header, &method)
            case 10 where name.equals("apns-topic"): keep(header, &topic)
            case 13 where name.equals("authorization"): keep(header, &authorization)
            case 13 where name.equals("apns-priority"): keep(header, &priority)
            case 14 where name.equals("apns-push-type"): keep(header, &pushType)
            case 15 where name.equals("apns-expiration"): keep(header, &expiration)
            case 15 where name.equals("apns-channel-id"): keep(header, &channelID)
            case 15 where name.equals("apns-request-id"): keep(header, &requestID)
            case 16 where name.equals("apns-collapse-id"): keep(header, &collapseID)
            default: continue
            }
        }
        duplicate = repeated
    }
}

/// The target of a request: its `:method` and `:path`.
package enum RequestTarget {
    /// `/3/device/<device token>`; the token may be anything but empty.
    case device(ArraySlice<UInt8>)
    /// `/4/broadcasts/apps/<bundle ID>`.
    case broadcast(ArraySlice<UInt8>)
    /// `/1/apps/<bundle ID>/channels` and `/1/apps/<bundle ID>/all-channels`.
    case channels(ScriptOperation, ArraySlice<UInt8>)

    /// Checks method, path and repeated headers.
    package init(_ fields: RequestHeaders) throws(SimulatedResponse) {
        let path = (fields.path ?? [])[...]
        if !path.hasPrefix("/1/") { _ = try Self.method(fields, ["POST"]) }
        if path.hasPrefix("/3/device/") || path.equals("/3/device") {
            let token = path.dropFirst(10)
            guard !token.contains(UInt8(ascii: "/")) else { throw Self.badPath }
            guard !token.isEmpty else {
                throw SimulatedResponse(400, "MissingDeviceToken", "the path has no device token")
            }
            self = .device(token)
        } else if path.hasPrefix("/4/broadcasts/apps/") {
            guard path.dropFirst(19).isBundleID else { throw Self.badPath }
            self = .broadcast(path.dropFirst(19))
        } else if path.hasPrefix("/1/apps/"), let slash = path.dropFirst(8).firstIndex(of: UInt8(ascii: "/")),
            path[8..<slash].isBundleID
        {
            self = .channels(try Self.operation(fields, path[slash...]), path[8..<slash])
        } else {
            throw Self.badPath
        }
        if let duplicate = fields.duplicate {
            throw SimulatedResponse(400, "DuplicateHeaders", "\(quoted(duplicate)) is repeated")
        }
    }

    private static func operation(
        _ fields: RequestHeaders, _ path: ArraySlice<UInt8>
    ) throws(SimulatedResponse) -> ScriptOperation {
        if path.equals("/all-channels") {
            _ = try method(fields, ["GET"])
            return .list
        }
        guard path.equals("/channels") else { throw badPath }
        switch try method(fields, ["POST", "GET", "DELETE"]) {
        case "POST": return .create
        case "GET": return .read
        default: return .delete
        }
    }

    private static func method(_ fields: RequestHeaders, _ allowed: [String]) throws(SimulatedResponse) -> String {
        let method = String(decoding: fields.method ?? [], as: UTF8.self)
        guard allowed.contains(method) else {
            throw SimulatedResponse(
                405, "MethodNotAllowed",
                "the method is \(quoted(method.utf8)), not \(allowed.joined(separator: " or "))")
        }
        return method
    }

    private static let badPath = SimulatedResponse(
        404, "BadPath",
        "the path is none of /3/device/TOKEN, /4/broadcasts/apps/BUNDLEID, /1/apps/BUNDLEID/channels and "
            + "/1/apps/BUNDLEID/all-channels")
}
