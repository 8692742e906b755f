import Core
import Decoding

/// The operation of a channel management request.
package enum ScriptOperation: String, CaseIterable, Sendable {
    case create, read, delete, list
}

/// Create, read, delete and list channels.
///
/// Sources: "Sending channel management requests to APNs" and "Handling error responses from Apple Push Notification
/// service".
extension RequestRules {
    func perform(
        _ operation: ScriptOperation, on bundleID: ArraySlice<UInt8>, _ fields: RequestHeaders, body: [UInt8],
        _ registry: ChannelRegistry, random: inout some RandomNumberGenerator
    ) throws(SimulatedResponse) -> SimulatedResponse {
        try Self.check("apns-request-id", fields.requestID, anyCase: true)
        try check(bundleID: bundleID)
        switch operation {
        case .create: return try create(bundleID, body, registry, random: &random)
        case .list:
            let names = registry.channels(of: bundleID).map { "\"\(String(decoding: $0, as: UTF8.self))\"" }
            return SimulatedResponse(200, content: "{\"channels\":[\(names.joined(separator: ","))]}")
        case .read:
            guard let policy = registry.policy(of: try Self.channelID(fields), bundleID) else {
                throw Self.unknownChannel
            }
            return SimulatedResponse(
                200, content: "{\"message-storage-policy\":\(policy.rawValue),\"push-type\":\"LiveActivity\"}")
        case .delete:
            guard registry.remove(Array(try Self.channelID(fields)), of: bundleID) else { throw Self.unknownChannel }
            return SimulatedResponse(204)
        }
    }

    private func create(
        _ bundleID: ArraySlice<UInt8>, _ body: [UInt8], _ registry: ChannelRegistry,
        random: inout some RandomNumberGenerator
    ) throws(SimulatedResponse) -> SimulatedResponse {
        guard !body.isEmpty else { throw SimulatedResponse(400, "PayloadEmpty", "there is no payload") }
        guard let object = Self.object(body) else {
            throw SimulatedResponse(400, "BadRequestPayload", "the payload is not a JSON object")
        }
        let other = object.members.first { !$0.key.equals("push-type") && !$0.key.equals("message-storage-policy") }
        if let other {
            throw SimulatedResponse(400, "BadRequestParams", "the payload has the member \(quoted(other.key))")
        }
        let pushType = try Self.required(object["push-type"], "MissingPushType", "push-type")
        guard pushType.text?.equals("LiveActivity") == true else {
            throw SimulatedResponse(
                400, "InvalidPushType", "push-type is \(quoted(pushType.raw)), not LiveActivity")
        }
        let name = "message-storage-policy"
        let storage = try Self.required(object[name], "MissingChannelQueueSize", name)
        guard let policy = storage.integer.flatMap(ChannelRegistry.StoragePolicy.init) else {
            throw SimulatedResponse(
                400, "BadRequestParams", "message-storage-policy is \(quoted(storage.raw)), not 0 or 1")
        }
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let channelID = Array(Base64.standard.encode(bytes).utf8)
        guard registry.add(channelID, of: bundleID, policy) else {
            throw SimulatedResponse(
                400, "CannotCreateChannelConfig", "the app has as many channels as are allowed")
        }
        return SimulatedResponse(201, content: "", channelID: channelID)
    }
}

/// The broadcast channels of all apps, shared by all connections.
///
/// Source: "Sending channel management requests to APNs".
package final class ChannelRegistry: Sendable {
    /// `message-storage-policy`, fixed at creation.
    package enum StoragePolicy: Int64, Sendable {
        case noMessageStored = 0
        case mostRecentMessageStored = 1
    }

    /// By bundle ID and channel ID.
    private let apps = Guarded<[[UInt8]: [[UInt8]: StoragePolicy]]>([:])
    /// Per bundle ID.
    private let limit: Int

    package init(limit: Int = 10_000) {
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
