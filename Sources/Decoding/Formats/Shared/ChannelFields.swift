import Core

extension ChannelOperation {
    /// - Parameter object: the value under the key `channel`: a request for an app's channels.
    init(_ object: JSONPart) throws(DecodingFailure) {
        guard object.kind == .object else {
            throw DecodingFailure("channel: expected an object, found \(object.kind.name)")
        }
        let name = object["operation"]?.text ?? []
        if name.equals("create") {
            self = .create(try Self.storagePolicy(object))
        } else if name.equals("read") {
            self = .read(try Self.channelID(object))
        } else if name.equals("delete") {
            self = .delete(try Self.channelID(object))
        } else if name.equals("list") {
            self = .list
        } else {
            throw DecodingFailure("channel.operation: expected create, read, delete or list")
        }
    }

    private static func storagePolicy(_ object: JSONPart) throws(DecodingFailure) -> MessageStoragePolicy {
        guard let number = object["message-storage-policy"]?.integer, let raw = UInt8(exactly: number),
            let policy = MessageStoragePolicy(rawValue: raw)
        else { throw DecodingFailure("channel.message-storage-policy: expected 0 (none) or 1 (the newest message)") }
        return policy
    }

    private static func channelID(_ object: JSONPart) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard let text = object["apns-channel-id"]?.text, isChannelID(text) else {
            throw DecodingFailure(
                "channel.apns-channel-id: expected base64, at most \(maximumChannelID) characters")
        }
        return text
    }
}
