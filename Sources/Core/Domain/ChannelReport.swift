/// What APNs said about an app's channels: the part of a ``Report`` that only requests about channels have.
///
/// An object, so that reports about notifications do not grow by it.
package final class ChannelReport: Sendable {
    /// The channel that was created, read or deleted.
    package let channelID: ArraySlice<UInt8>?
    /// `message-storage-policy`, as JSON.
    package let storagePolicy: ArraySlice<UInt8>?
    /// Of a list: the array of channel IDs, as JSON.
    package let channels: ArraySlice<UInt8>?

    package init(channelID: ArraySlice<UInt8>?, storagePolicy: ArraySlice<UInt8>?, channels: ArraySlice<UInt8>?) {
        self.channelID = channelID
        self.storagePolicy = storagePolicy
        self.channels = channels
    }
}
