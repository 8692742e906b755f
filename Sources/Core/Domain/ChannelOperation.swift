/// What APNs stores in a channel for offline devices. Set when the channel is created; cannot be changed later.
///
/// Source: "Sending channel management requests to APNs", `message-storage-policy`.
package enum MessageStoragePolicy: UInt8, CaseIterable, Sendable {
    /// Nothing. Every broadcast has the expiration 0, and the broadcast budget is higher.
    case none = 0
    /// The newest message.
    case latest = 1
}

/// A request about an app's broadcast channels.
///
/// Source: "Sending channel management requests to APNs".
package enum ChannelOperation: Hashable, Sendable {
    /// Creates a channel; APNs chooses its ID.
    case create(MessageStoragePolicy)
    /// Reads a channel's storage policy and push type.
    case read(ArraySlice<UInt8>)
    case delete(ArraySlice<UInt8>)
    /// Lists the IDs of all channels of the app in the environment.
    case list

    /// In bytes of base64 text: well above Apple's 24, well below the limit of a header list.
    package static let maximumChannelID = 256
    /// Per app and environment. Source: "Sending channel management requests to APNs".
    package static let maximumChannels = 10_000

    package var name: StaticString {
        switch self {
        case .create: "create"
        case .read: "read"
        case .delete: "delete"
        case .list: "list"
        }
    }

    /// The request's HTTP method.
    package var method: StaticString {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    /// `apns-channel-id`, for an operation on one existing channel.
    package var channelID: ArraySlice<UInt8>? {
        switch self {
        case .read(let channelID), .delete(let channelID): channelID
        case .create, .list: nil
        }
    }

    /// Whether repeating it has no further effect. Creating makes another channel each time.
    package var isIdempotent: Bool {
        if case .create = self { false } else { true }
    }

    /// The request's JSON body; empty if it has none.
    package var body: [UInt8] {
        guard case .create(let policy) = self else { return [] }
        return Array("{\"message-storage-policy\":\(policy.rawValue),\"push-type\":\"LiveActivity\"}".utf8)
    }

    /// Whether a text can be a channel ID: base64, without interpreting it.
    package static func isChannelID(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty && text.count <= maximumChannelID
            && text.allSatisfy { $0.isLetterOrDigit(or: "+/=-_") }
    }
}
