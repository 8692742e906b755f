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

/// The service of APNs that a port offers; Apple uses separate hosts and ports.
package enum PortService: Sendable {
    case all, notifications, channelManagement

    func offers(_ target: RequestTarget) -> Bool {
        switch target {
        case .device, .broadcast: self != .channelManagement
        case .channels, .allChannels: self != .notifications
        }
    }
}

/// The target in a request's `:path`.
package enum RequestTarget: Equatable, Sendable {
    /// `/3/device/<device token>`; the token may be anything, even empty.
    case device(ArraySlice<UInt8>)
    /// `/4/broadcasts/apps/<bundle ID>`.
    case broadcast(ArraySlice<UInt8>)
    /// `/1/apps/<bundle ID>/channels`.
    case channels(ArraySlice<UInt8>)
    /// `/1/apps/<bundle ID>/all-channels`.
    case allChannels(ArraySlice<UInt8>)

    /// - Returns: `nil` for a path that Apple does not document.
    package init?(path: [UInt8]) {
        let path = path[...]
        if path.hasPrefix("/3/device/") {
            let token = path.dropFirst(10)
            guard !token.contains(UInt8(ascii: "/")) else { return nil }
            self = .device(token)
        } else if path.equals("/3/device") {
            self = .device([])
        } else if path.hasPrefix("/4/broadcasts/apps/") {
            let bundleID = path.dropFirst(19)
            guard bundleID.isBundleID else { return nil }
            self = .broadcast(bundleID)
        } else if path.hasPrefix("/1/apps/") {
            let rest = path.dropFirst(8)
            guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), rest[..<slash].isBundleID else { return nil }
            if rest[slash...].equals("/channels") {
                self = .channels(rest[..<slash])
            } else if rest[slash...].equals("/all-channels") {
                self = .allChannels(rest[..<slash])
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}
