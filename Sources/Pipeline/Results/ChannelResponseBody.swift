package import APNs
package import Core
import Decoding

extension Report {
    /// Adds the channel data of a response; if expected data is missing, ``detail`` says so.
    package mutating func add(_ response: APNsResponse, to operation: ChannelOperation) {
        let body = response.channel?.body ?? []
        // The members that "Sending channel management requests to APNs" names, for `read` and `list`.
        let object = try? JSONPart(body[...])
        let (policy, list) = (object?["message-storage-policy"], object?["channels"])
        let channel = ChannelReport(
            channelID: operation.channelID ?? response.channel?.channelID?[...],
            storagePolicy: operation.storagePolicy ?? (policy?.kind == .number ? policy?.raw : nil),
            channels: list?.kind == .array ? list?.raw : nil)
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

extension ChannelOperation {
    fileprivate var storagePolicy: ArraySlice<UInt8>? {
        guard case .create(let policy) = self else { return nil }
        return ArraySlice(String(policy.rawValue).utf8)
    }
}

extension ChannelReport {
    /// The channels' IDs; `nil` unless ``channels`` is an array of strings.
    package var channelIDs: [String]? {
        guard let channels, let list = try? JSONPart(channels) else { return nil }
        let names = list.elements.compactMap(\.text)
        guard list.kind == .array, names.count == list.elements.count else { return nil }
        return names.map { String(decoding: $0, as: UTF8.self) }
    }
}
