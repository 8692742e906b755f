/// APNs' response to a channel request: the part of a ``Report`` that only channel requests have.
///
/// A class, so that reports about notifications stay small.
package final class ChannelReport: Sendable {
    /// The created, read or deleted channel.
    package let channelID: ArraySlice<UInt8>?
    /// `message-storage-policy`, as JSON.
    package let storagePolicy: ArraySlice<UInt8>?
    /// For a list: the array of channel IDs, as JSON.
    package let channels: ArraySlice<UInt8>?

    package init(channelID: ArraySlice<UInt8>?, storagePolicy: ArraySlice<UInt8>?, channels: ArraySlice<UInt8>?) {
        self.channelID = channelID
        self.storagePolicy = storagePolicy
        self.channels = channels
    }
}
