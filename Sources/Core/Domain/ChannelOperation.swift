/// What a channel keeps for devices that are away. It is chosen when the channel is created and never changes.
///
/// Source: "Sending channel management requests to APNs", `message-storage-policy`.
package enum MessageStoragePolicy: UInt8, CaseIterable, Sendable {
    /// Nothing: every broadcast has the expiration 0, and the budget for them is higher.
    case none = 0
    /// The newest message.
    case latest = 1

    package var name: StaticString {
        switch self {
        case .none: "none"
        case .latest: "latest"
        }
    }
}

/// A request about an app's broadcast channels.
///
/// Source: "Sending channel management requests to APNs".
package enum ChannelOperation: Hashable, Sendable {
    /// Makes a channel; APNs chooses its ID.
    case create(MessageStoragePolicy)
    /// Asks for a channel's storage policy and push type.
    case read(ArraySlice<UInt8>)
    /// Ends a channel for good.
    case delete(ArraySlice<UInt8>)
    /// Asks for the IDs of all channels of the app in the environment.
    case list

    /// In bytes, of the base64 text: well above Apple's 24, well below what a header list may hold.
    package static let maximumChannelID = 256
    /// Per app and environment. Source: as above.
    package static let maximumChannels = 10_000

    package var name: StaticString {
        switch self {
        case .create: "create"
        case .read: "read"
        case .delete: "delete"
        case .list: "list"
        }
    }

    /// `apns-channel-id`, where the operation is about one channel that exists.
    package var channelID: ArraySlice<UInt8>? {
        switch self {
        case .read(let channelID), .delete(let channelID): channelID
        case .create, .list: nil
        }
    }

    /// Whether doing it twice comes to the same as doing it once: creating makes another channel each time.
    package var isIdempotent: Bool {
        switch self {
        case .create: false
        case .read, .delete, .list: true
        }
    }

    /// The JSON that goes with it; empty where nothing does.
    package var body: [UInt8] {
        guard case .create(let policy) = self else { return [] }
        return Array("{\"message-storage-policy\":\(policy.rawValue),\"push-type\":\"LiveActivity\"}".utf8)
    }

    /// Whether a text can be a channel's ID: base64, which is for APNs to understand.
    package static func isChannelID(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty && text.count <= maximumChannelID
            && text.allSatisfy { $0.isLetterOrDigit(or: "+/=-_") }
    }
}
