import CHarebellDecoder
import Core

/// Copies a library's result into our own memory, and checks that it conforms to the interface.
@safe
struct LibraryReader {
    private static let maximumNotifications = Int(HAREBELL_MAXIMUM_NOTIFICATIONS)
    private static let maximumText = Int(HAREBELL_MAXIMUM_TEXT)
    private static let maximumSeconds = UInt64(HAREBELL_MAXIMUM_SECONDS)
    /// Far above the future size of the struct, in bytes.
    private static let maximumNotificationSize = 4096

    private let delivery: Delivery
    private let storage: UnsafePointer<UInt8>

    /// - Parameter storage: the start of the delivery's memory.
    init(_ delivery: Delivery, at storage: UnsafePointer<UInt8>) {
        self.delivery = delivery
        unsafe self.storage = unsafe storage
    }

    /// - Returns: a refusal if the answer violates the interface.
    func decoded(_ response: harebell_answer) -> Decoded {
        var key: ArraySlice<UInt8>?
        do throws(DecodingFailure) {
            key = try unsafe slice(response.key, "key")
            return unsafe try read(response, key: key)
        } catch {
            return .reject(error.keyed(key))
        }
    }

    private func read(_ response: harebell_answer, key: ArraySlice<UInt8>?) throws(DecodingFailure) -> Decoded {
        switch unsafe response.kind {
        case HAREBELL_REQUEST.rawValue: return .request(try unsafe request(response, key: key))
        case HAREBELL_IGNORE.rawValue:
            return .ignore(reason: unsafe LibraryCall.words(response.detail) ?? "the library gives no reason")
        case HAREBELL_REJECT.rawValue:
            throw DecodingFailure(unsafe LibraryCall.words(response.detail) ?? "the library gives no reason")
        case HAREBELL_LATER.rawValue:
            let seconds = unsafe response.seconds
            guard seconds <= Self.maximumSeconds else {
                throw Self.failure("\(seconds) seconds, expected at most \(Self.maximumSeconds)")
            }
            return .later(.seconds(max(1, seconds)))
        case HAREBELL_NO_ANSWER.rawValue: throw Self.failure("no answer")
        default: throw Self.failure(unsafe "the unknown kind of answer \(response.kind)")
        }
    }

    private func request(_ response: harebell_answer, key: ArraySlice<UInt8>?) throws(DecodingFailure) -> Request {
        let (count, size) = unsafe (response.notification_count, response.notification_size)
        guard count > 0, let first = unsafe response.notifications else {
            throw Self.failure("a request without notifications")
        }
        guard count <= Self.maximumNotifications else {
            throw DecodingFailure(
                "library: \(count) notifications, expected at most \(Self.maximumNotifications)", limit: .tokens)
        }
        let least = unsafe MemoryLayout<harebell_notification>.size
        guard (least...Self.maximumNotificationSize).contains(size) else {
            throw Self.failure("a notification_size of \(size)")
        }
        let bytes = unsafe UnsafeRawPointer(first)
        var payload = LastText()
        // All notifications of a fan-out share one payload, which is checked once.
        var checked: ArraySlice<UInt8>?
        var batch = RequestBatch("notifications")
        for index in 0..<count {
            let place = unsafe bytes + index * size
            let notification = unsafe place.loadUnaligned(as: harebell_notification.self)
            var fields = try unsafe read(notification, &payload)
            fields.key = key
            func request() throws(DecodingFailure) -> Request {
                let found = payload.slice
                let isChecked = found != nil && found == checked
                checked = fields.findings.check { () throws(DecodingFailure) in
                    guard let found else { throw DecodingFailure("payload: missing") }
                    return try isChecked ? found : RequestFields.payload(found)
                }
                return try fields.request(payload: checked)
            }
            if count == 1 { return try request() }
            try batch.add(request)
        }
        return batch.request(key: key)
    }

    /// The last copied text; the next notification often has the same one.
    private struct LastText {
        var address: UInt = 0
        var slice: ArraySlice<UInt8>?
    }

    private func read(
        _ notification: harebell_notification, _ payload: inout LastText
    ) throws(DecodingFailure) -> RequestFields {
        let address = UInt(bitPattern: unsafe notification.payload.bytes)
        if unsafe payload.address != address || payload.slice?.count != notification.payload.size {
            payload = LastText(address: address, slice: try unsafe slice(notification.payload, "payload"))
        }
        var fields = RequestFields()
        func set(_ field: RequestFields.Name, _ text: harebell_text, _ name: String) throws(DecodingFailure) {
            if let text = try unsafe slice(text, name) { fields[field] = .text(text) }
        }
        try unsafe set(.deviceToken, notification.device_token, "device_token")
        try unsafe set(.channelID, notification.channel_id, "channel_id")
        try unsafe set(.topic, notification.topic, "topic")
        try unsafe set(.pushType, notification.push_type, "push_type")
        try unsafe set(.id, notification.id, "id")
        try unsafe set(.collapseID, notification.collapse_id, "collapse_id")
        try unsafe set(.environment, notification.environment, "environment")
        if unsafe notification.has_expiration != 0 {
            fields[.expiration] = unsafe .integer(notification.expiration)
        }
        if unsafe notification.priority != 0 {
            fields[.priority] = unsafe .integer(Int64(notification.priority))
        }
        return fields
    }

    /// - Returns: a slice of the delivery's memory if the text is in it, else a copy; `nil` for a null text.
    private func slice(_ text: harebell_text, _ name: String) throws(DecodingFailure) -> ArraySlice<UInt8>? {
        let size = unsafe text.size
        guard let bytes = unsafe text.bytes else {
            guard size == 0 else { throw Self.failure("\(name): \(size) bytes at NULL") }
            return nil
        }
        guard size >= 0, size <= Self.maximumText else {
            throw Self.failure("\(name): \(UInt(bitPattern: size)) bytes, expected at most \(Self.maximumText)")
        }
        let offset = unsafe UInt(bitPattern: bytes) &- UInt(bitPattern: storage)
        let end = UInt(delivery.storage.count)
        if offset <= end, UInt(size) <= end - offset { return delivery.storage[Int(offset)..<Int(offset) + size] }
        return unsafe ArraySlice(UnsafeBufferPointer(start: bytes, count: size))
    }

    private static func failure(_ what: String) -> DecodingFailure {
        DecodingFailure("library: its answer has \(what)")
    }
}
