import Core
import Settings
import System

/// `library`: a shared library behind a small C interface reads the messages.
struct LibraryDecoder: Decoder {
    let name = "library"
    /// `nil` where none could be made.
    private let instance: LibraryInstance?

    static let format = DecoderFormat(
        "library", version: "1.0.0", "Any format: a shared library reads it.",
        [
            Setting(
                "file", .file, default: nil,
                "The library; nobody but root and the user whom harebell runs as may be able to change it or its "
                    + "folder."
            ),
            Setting(
                "options", .text(bytes: 2...65536), default: "\"{}\"",
                "What the library is told when it makes the decoder: the text of a JSON object."),
        ]
    ) { options in LibraryDecoder(&options) }

    /// Loads the library, which a format that looks at no file would not do: what is wrong with it, and what it says of
    /// its options, is to be told before the first message.
    private init(_ options: inout DecoderOptions) {
        instance = Self.instance(&options)
    }

    private static func instance(_ options: inout DecoderOptions) -> LibraryInstance? {
        guard let file = options.text("file"), let text = options.text("options") else {
            if options.text("file") == nil { options.report("file", "expected the path of a shared library") }
            return nil
        }
        guard (try? JSONPart(ArraySlice(text.utf8)))?.kind == .object else {
            options.report("options", "expected the text of a JSON object")
            return nil
        }
        let library: DecoderLibrary
        do throws(LibraryError) {
            library = try DecoderLibrary(file: FilePath(file, shownAs: options.values.written("file")))
        } catch {
            options.report("file", error.message)
            return nil
        }
        do throws(LibraryProblems) {
            return try LibraryInstance(library, options: text)
        } catch {
            for message in error.messages { options.report("options", "\(library.name): \(message)") }
            return nil
        }
    }

    /// How long a message waits for a decoder that is not there.
    private static let pause = Duration.seconds(300)

    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        // The configuration was right when it was read, so somebody changed the library since.
        guard let instance else { return .later(Self.pause) }
        do throws(DecodingFailure) {
            switch try instance.decode(delivery, at: now) {
            case .ignore(let reason): return .ignore(reason: reason)
            case .reject(let failure): return .reject(failure)
            case .later(let pause): return .later(pause)
            case .request(let notifications, let key): return try Self.decoded(notifications, key: key)
            }
        } catch {
            return .reject(error)
        }
    }

    private static func decoded(
        _ notifications: [LibraryNotification], key: ArraySlice<UInt8>?
    ) throws(DecodingFailure) -> Decoded {
        // Of a fan-out all have one payload, which is checked once.
        var checked: ArraySlice<UInt8>?
        func request(_ notification: LibraryNotification) throws(DecodingFailure) -> Request {
            guard let payload = notification.payload else { throw DecodingFailure("payload: missing") }
            if checked != payload { try RequestFields.checkPayload(payload, "payload") }
            checked = payload
            return try RequestFields(notification).request(payload: payload)
        }
        guard notifications.count > 1 else {
            var request = try request(notifications[0])
            request.key = key
            return .request(request)
        }
        var batch = RequestBatch("notifications")
        for notification in notifications {
            try batch.add { () throws(DecodingFailure) in try request(notification) }
        }
        return batch.decoded(key: key, else: "no notifications")
    }
}

extension RequestFields {
    fileprivate init(_ notification: LibraryNotification) {
        self.init()
        func set(_ name: Name, _ text: ArraySlice<UInt8>?) {
            if let text { self.set(name, .text(text)) }
        }
        set(.deviceToken, notification.deviceToken)
        set(.channelID, notification.channelID)
        set(.topic, notification.topic)
        set(.pushType, notification.pushType)
        set(.id, notification.id)
        set(.collapseID, notification.collapseID)
        set(.environment, notification.environment)
        if let expiration = notification.expiration { self.set(.expiration, .integer(expiration)) }
        if let priority = notification.priority { self.set(.priority, .integer(Int64(priority))) }
    }
}
