import CHarebellDecoder
import Core

/// A delivery in the library's interface: every text points into the delivery's memory.
extension Delivery {
    /// - Parameter body: receives the view and the start of the delivery's memory.
    func lend<Result>(
        at now: WallTime, _ body: (UnsafePointer<harebell_delivery>, UnsafePointer<UInt8>) -> Result
    ) -> Result {
        // An empty text needs a valid pointer as well.
        let storage = storage.isEmpty ? [0] : storage
        return unsafe storage.withUnsafeBufferPointer { storage in
            guard let base = storage.baseAddress else { preconditionFailure("the array has elements") }
            let headers = unsafe self.headers(base)
            return unsafe headers.withUnsafeBufferPointer { headers in
                var view = unsafe self.view(base, at: now)
                unsafe view.headers = headers.baseAddress
                unsafe view.header_count = headers.count
                return unsafe withUnsafePointer(to: &view) { unsafe body($0, base) }
            }
        }
    }

    private func view(_ base: UnsafePointer<UInt8>, at now: WallTime) -> harebell_delivery {
        var view = unsafe harebell_delivery()
        unsafe view.size = MemoryLayout<harebell_delivery>.size
        unsafe view.body = text(body, base)
        unsafe view.content_type = text(contentType, base)
        unsafe view.content_encoding = text(contentEncoding, base)
        unsafe view.message_id = text(messageID, base)
        unsafe view.correlation_id = text(correlationID, base)
        unsafe view.reply_to = text(replyTo, base)
        unsafe view.type = text(type, base)
        unsafe view.app_id = text(appID, base)
        unsafe view.expiration = text(expiration, base)
        unsafe view.exchange = text(exchange, base)
        unsafe view.routing_key = text(routingKey, base)
        unsafe view.timestamp = timestampInSeconds ?? 0
        unsafe view.has_timestamp = timestamp == nil ? 0 : 1
        unsafe view.redelivered = redelivered ? 1 : 0
        unsafe view.now = now.milliseconds
        return unsafe view
    }

    private func headers(_ base: UnsafePointer<UInt8>) -> [harebell_header] {
        var headers: [harebell_header] = unsafe []
        guard headerCount > 0 else { return unsafe headers }
        unsafe headers.reserveCapacity(headerCount)
        forEachHeader { name, value in
            var header = unsafe harebell_header()
            unsafe header.name = text(name, base)
            let kind: harebell_value_kind
            switch value {
            case .text(let text):
                kind = HAREBELL_VALUE_TEXT
                unsafe header.text = self.text(text, base)
            case .integer(let integer):
                kind = HAREBELL_VALUE_INTEGER
                unsafe header.integer = integer
            case .number(let number):
                kind = HAREBELL_VALUE_NUMBER
                unsafe header.number = number
            case .boolean(let boolean):
                kind = HAREBELL_VALUE_BOOLEAN
                unsafe header.boolean = boolean ? 1 : 0
            case .other:
                kind = HAREBELL_VALUE_OTHER
            }
            unsafe header.kind = kind.rawValue
            unsafe headers.append(header)
        }
        return unsafe headers
    }

    /// - Parameter slice: a slice of the delivery's memory, or an empty one.
    private func text(_ slice: ArraySlice<UInt8>?, _ base: UnsafePointer<UInt8>) -> harebell_text {
        guard let slice else { return unsafe harebell_text(bytes: nil, size: 0) }
        return unsafe harebell_text(bytes: slice.isEmpty ? base : base + slice.startIndex, size: slice.count)
    }
}
