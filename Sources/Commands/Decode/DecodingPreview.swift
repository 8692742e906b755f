import Configuration
import Core
import Decoding
import Pipeline
import Runtime
import TLS

/// How a worker would decode a message from a queue.
struct DecodingPreview: Sendable {
    /// One notification with the data that a worker would add.
    struct Entry: Sendable {
        let notification: Notification
        let id: NotificationID
        /// Violations of Apple's tables in its payload; `nil` for none.
        let finding: String?
        /// The topic and the app's environment; without a configuration those of the notification.
        let topic: String?
        let environment: Environment?
        /// Why a worker with this configuration would not send it.
        let failure: String?
    }

    let decoder: String
    /// The semantic version of the decoder's format; `nil` if it has none.
    let version: String?
    let decoded: Decoded
    /// The notifications of a request.
    let entries: [Entry]

    /// The decoder and its context.
    struct Reader {
        let decoder: String
        let decoders: DecoderSet
        let queue: String
        let configuration: Configuration?

        /// - Parameters:
        ///   - queue: the queue that the message would come from; part of the `apns-id`.
        ///   - configuration: its apps determine the topics; `nil` ignores apps.
        init(
            decoder: String, _ decoders: DecoderSet, queue: String, _ configuration: Configuration? = nil
        ) {
            self.decoder = decoder
            self.decoders = decoders
            self.queue = queue
            self.configuration = configuration
        }
    }

    /// - Parameter process: runs a decoder that is a program.
    /// - Throws: ``UnknownDecoder`` if no decoder has this name, and the errors of `process`.
    init(
        _ delivery: Delivery, by reader: Reader, at now: WallTime, process: (ProcessDecoder) throws -> Decoded
    ) throws {
        let (name, configuration) = (reader.decoder, reader.configuration)
        guard let decoder = reader.decoders[name] else {
            throw UnknownDecoder(description: reader.decoders.complaint(about: name) ?? "")
        }
        self.decoder = name
        version = reader.decoders.version(of: decoder)
        decoded = try (decoder as? ProcessDecoder).map(process) ?? decoder.decode(delivery, at: now)
        guard case .request(let request) = decoded else {
            entries = []
            return
        }
        let refused = Set(request.refusals.map(\.position))
        let places = (0..<request.count).filter { !refused.contains($0) }
        let apps = try configuration.map(Self.apps)
        entries = zip(places, request.notifications).map { place, notification in
            let id = RequestKey.notificationID(
                own: notification.id, position: request.count == 1 ? nil : place, of: delivery, queue: reader.queue,
                key: request.key)
            let findings = PayloadCheck.findings(in: notification).flatMap { $0.isEmpty ? nil : $0.detail }
            let all = [findings, request.hint].compactMap(\.self)
            let finding = all.isEmpty ? nil : all.joined(separator: "; ")
            switch apps?.resolve(notification) {
            case .failure(let failure)?:
                return Entry(notification, id, finding, failure: failure.detail)
            case .success(let match)?:
                return Entry(notification, id, finding, topic: match.topic, match.environment)
            case nil: return Entry(notification, id, finding)
            }
        }
    }

    private static func apps(of configuration: Configuration) throws(TLSError) -> AppTable {
        let nowhere = PoolID(0)
        var apps: [PipelineApp] = []
        for app in configuration.apps {
            let pools = PipelineApp.Pools(notifications: nowhere, broadcasts: nowhere, management: nowhere)
            apps.append(try PipelineApp(app, pools: pools))
        }
        return AppTable(apps)
    }
}

extension DecodingPreview.Entry {
    fileprivate init(
        _ notification: Notification, _ id: NotificationID, _ finding: String?, topic: ArraySlice<UInt8>? = nil,
        _ environment: Environment? = nil, failure: String? = nil
    ) {
        self.notification = notification
        self.id = id
        self.finding = finding
        self.topic = (topic ?? notification.topic).map { String(decoding: $0, as: UTF8.self) }
        self.environment = environment ?? notification.environment
        self.failure = failure
    }
}

/// Why a name is not that of a decoder.
struct UnknownDecoder: Error, CustomStringConvertible {
    let description: String
}
