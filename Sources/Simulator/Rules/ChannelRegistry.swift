import Core
/// The broadcast channels of all apps, shared by all connections.
///
/// Source: "Sending channel management requests to APNs".
package final class ChannelRegistry: Sendable {
    /// `message-storage-policy`, fixed at creation.
    package enum StoragePolicy: Int64, Sendable {
        case noMessageStored = 0
        case mostRecentMessageStored = 1
    }

    private typealias Channels = [[UInt8]: StoragePolicy]

    private let apps = Guarded<[[UInt8]: Channels]>([:])
    /// Per bundle ID.
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: `false` if the app has reached the limit.
    @discardableResult
    package func add(_ channelID: [UInt8], of bundleID: ArraySlice<UInt8>, _ policy: StoragePolicy) -> Bool {
        apps.withLock { apps in
            guard apps[Array(bundleID), default: [:]].count < limit else { return false }
            apps[Array(bundleID), default: [:]][channelID] = policy
            return true
        }
    }

    package func policy(of channelID: ArraySlice<UInt8>, _ bundleID: ArraySlice<UInt8>) -> StoragePolicy? {
        apps.withLock { $0[Array(bundleID)]?[Array(channelID)] }
    }

    /// - Returns: `false` if the channel does not exist.
    package func remove(_ channelID: [UInt8], of bundleID: ArraySlice<UInt8>) -> Bool {
        apps.withLock { $0[Array(bundleID)]?.removeValue(forKey: channelID) != nil }
    }

    /// In alphabetical order.
    package func channels(of bundleID: ArraySlice<UInt8>) -> [[UInt8]] {
        apps.withLock { apps in
            (apps[Array(bundleID)] ?? [:]).keys.sorted { $0.lexicographicallyPrecedes($1) }
        }
    }
}
