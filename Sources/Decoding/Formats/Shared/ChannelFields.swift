import Core

/// The object under the key `channel`: a request for an app's channels.
struct ChannelFields {
    private var operation = RequestFields.Value.missing
    private var storagePolicy = RequestFields.Value.missing
    private var channelID = RequestFields.Value.missing

    /// - Parameter object: a value that the scanner found in `body`.
    init(_ object: JSONValue, in body: ArraySlice<UInt8>) throws(DecodingFailure) {
        guard object.kind == .object else {
            throw DecodingFailure("channel: expected an object, found \(object.kind.name)")
        }
        do {
            try scan(object, in: body)
        } catch {
            throw DecodingFailure(error, of: body)
        }
    }

    private mutating func scan(_ object: JSONValue, in body: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = body.span
        var scanner = JSONScanner(at: object.range.lowerBound)
        guard scanner.open(bytes, "{") else { preconditionFailure("an object begins with a bracket") }
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            let value = RequestFields.Value(try scanner.value(bytes, depth: 2), in: body)
            guard let name = body.text(of: key) else { continue }
            if name.equals("operation") { operation = value }
            if name.equals("message-storage-policy") { storagePolicy = value }
            if name.equals("apns-channel-id") { channelID = value }
        }
    }

    func parse() throws(DecodingFailure) -> ChannelOperation {
        switch operation {
        case .text(let name) where name.equals("create"): return .create(try parseStoragePolicy())
        case .text(let name) where name.equals("read"): return .read(try parseChannelID())
        case .text(let name) where name.equals("delete"): return .delete(try parseChannelID())
        case .text(let name) where name.equals("list"): return .list
        default: throw DecodingFailure("channel.operation: expected create, read, delete or list")
        }
    }

    private func parseStoragePolicy() throws(DecodingFailure) -> MessageStoragePolicy {
        guard case .integer(let number) = storagePolicy, let raw = UInt8(exactly: number),
            let policy = MessageStoragePolicy(rawValue: raw)
        else { throw DecodingFailure("channel.message-storage-policy: expected 0 (none) or 1 (the newest message)") }
        return policy
    }

    private func parseChannelID() throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard case .text(let text) = channelID, ChannelOperation.isChannelID(text) else {
            throw DecodingFailure(
                "channel.apns-channel-id: expected base64, at most \(ChannelOperation.maximumChannelID) characters")
        }
        return text
    }
}
