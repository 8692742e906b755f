package import APNs
package import Core
import Decoding

extension Report {
    /// Adds the channel data of a response; if expected data is missing, ``detail`` says so.
    package mutating func add(_ response: APNsResponse, to operation: ChannelOperation) {
        let body = response.channel?.body ?? []
        let members = ChannelResponseBody(body[...])
        let channel = ChannelReport(
            channelID: operation.channelID ?? response.channel?.channelID?[...],
            storagePolicy: operation.storagePolicy ?? members?.storagePolicy, channels: members?.channels)
        self.channel = channel
        guard outcome == .accepted else { return }
        switch operation {
        case .create where channel.channelID == nil: detail = "the response of APNs lacks the new channel's ID"
        case .read where channel.storagePolicy == nil, .list where channel.channels == nil:
            detail = "the response of APNs cannot be read (\(body.count) bytes)"
        case .create, .read, .delete, .list: break
        }
    }
}

/// The JSON response to `read` and `list`, as far as known.
///
/// Source: "Sending channel management requests to APNs".
private struct ChannelResponseBody {
    var storagePolicy: ArraySlice<UInt8>?
    var channels: ArraySlice<UInt8>?

    /// - Returns: `nil` unless the whole text is one JSON object.
    init?(_ text: ArraySlice<UInt8>) {
        do {
            try scan(text)
        } catch {
            return nil
        }
    }

    private mutating func scan(_ text: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = text.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else { throw JSONFailure(offset: 0, expectation: "an object") }
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            let value = try scanner.value(bytes, depth: 1)
            guard let name = text.text(of: key) else { continue }
            if name.equals("message-storage-policy"), value.kind == .number { storagePolicy = text.slice(value.range) }
            if name.equals("channels"), value.kind == .array { channels = text.slice(value.range) }
        }
        try scanner.end(bytes)
    }
}

extension ChannelOperation {
    /// The policy of a new channel, as JSON.
    fileprivate var storagePolicy: ArraySlice<UInt8>? {
        guard case .create(let policy) = self else { return nil }
        return ArraySlice(String(policy.rawValue).utf8)
    }
}

extension ChannelReport {
    /// The channels' IDs; `nil` unless ``channels`` is an array of strings.
    package var channelIDs: [String]? {
        guard let channels else { return nil }
        let bytes = channels.span
        var scanner = JSONScanner()
        var names: [String] = []
        guard scanner.open(bytes, "[") else { return nil }
        do throws(JSONFailure) {
            while try scanner.nextElement(bytes, isFirst: names.isEmpty) {
                let value = try scanner.value(bytes, depth: 1)
                guard value.kind == .string, let name = channels.text(of: value) else { return nil }
                names.append(String(decoding: name, as: UTF8.self))
            }
        } catch {
            return nil
        }
        return names
    }
}
