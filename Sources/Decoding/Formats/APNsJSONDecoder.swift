package import Core

/// `apns-json`: a JSON envelope whose keys are Apple's header names; the payload is a slice of the body.
///
/// Unknown keys are ignored, the last of duplicate keys is used, and `null` is the same as a missing key.
package struct APNsJSONDecoder: RefusingDecoder {
    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        .request(try Self.request(delivery.body))
    }

    static func isRequest(_ body: ArraySlice<UInt8>) -> Bool {
        var envelope = Envelope()
        return (try? envelope.scan(body)) != nil && envelope.payload != nil
            && (envelope.tokens != nil || !envelope.fields[.deviceToken].isMissing
                || !envelope.fields[.channelID].isMissing)
    }

    /// - Parameter headers: the message whose headers have no effect; `nil` if they are another decoder's.
    static func request(_ body: ArraySlice<UInt8>, beside headers: Delivery? = nil) throws(DecodingFailure) -> Request {
        var envelope = Envelope()
        var unreadable: JSONFailure?
        do throws(JSONFailure) { try envelope.scan(body) } catch { unreadable = error }
        if let headers { envelope.fields.remark(onHeadersOf: headers) }
        let remark = envelope.fields.remarks.text.map { "; \($0)" } ?? ""
        if let unreadable {
            let failure = DecodingFailure(unreadable, of: body)
            throw DecodingFailure(failure.detail + remark, limit: failure.limit, known: envelope.fields.known)
        }
        if let kind = envelope.otherKind {
            throw DecodingFailure("body: expected a JSON object, found \(kind.name)\(remark)")
        }
        if let channel = envelope.channel {
            if envelope.payload != nil || envelope.tokens != nil {
                envelope.fields.findings.add(
                    DecodingFailure("channel: expected neither payload nor device-tokens beside it"))
            }
            let operation = envelope.fields.findings.check { () throws(DecodingFailure) in
                try ChannelOperation(JSONPart(channel, of: body))
            }
            return try envelope.fields.request(about: operation)
        }
        if let tokens = envelope.tokens {
            envelope.fields.setDeviceTokens(
                tokens.kind == .array ? JSONPart(tokens, of: body).texts : nil,
                else: "an array, found \(tokens.kind.name)")
        }
        let found = envelope.payload
        let payload = envelope.fields.findings.check { () throws(DecodingFailure) in
            guard let found else { throw DecodingFailure("payload: missing, expected a JSON object") }
            try RequestFields.checkPayload(JSONPart(found, of: body))
            return body.slice(found.range)
        }
        return try envelope.fields.request(payload: payload)
    }
}

private struct Envelope {
    var fields = RequestFields()
    var payload: JSONValue?
    var tokens: JSONValue?
    var channel: JSONValue?
    var otherKind: JSONValue.Kind?

    mutating func scan(_ body: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = body.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else {
            otherKind = try scanner.value(bytes, depth: 0).kind
            return try scanner.end(bytes)
        }
        while let key = try scanner.nextKey(bytes) {
            let value = try scanner.value(bytes, depth: 1)
            let name = bytes.withText(of: key) { text in
                let name = RequestFields.Name(text)
                if name == nil { fields.remarks.notice(unknown: text) }
                return name
            }
            guard let name else { continue }
            fields.count(name)
            switch name {
            case .payload: payload = value.kind == .null ? nil : value
            case .deviceTokens: tokens = value.kind == .null ? nil : value
            case .channel: channel = value.kind == .null ? nil : value
            default: fields[name] = RequestFields.Value(value, in: body)
            }
        }
        try scanner.end(bytes)
    }
}

extension ChannelOperation {
    /// - Parameter object: the value under the key `channel`: a request for an app's channels.
    init(_ object: JSONPart) throws(DecodingFailure) {
        guard object.kind == .object else {
            throw DecodingFailure("channel: expected an object, found \(object.kind.name)")
        }
        let name = object["operation"].map { RequestFields.Value($0.value, in: $0.document) } ?? .missing
        switch name {
        case .text(let name) where name.equals("create"): self = .create(try Self.storagePolicy(object))
        case .text(let name) where name.equals("read"): self = .read(try Self.channelID(object))
        case .text(let name) where name.equals("delete"): self = .delete(try Self.channelID(object))
        case .text(let name) where name.equals("list"): self = .list
        default:
            let operations = ["create", "read", "delete", "list"]
            throw DecodingFailure("channel.operation: \(RequestFields.unknown(name, among: operations))")
        }
    }

    private static func storagePolicy(_ object: JSONPart) throws(DecodingFailure) -> MessageStoragePolicy {
        guard let number = object["message-storage-policy"]?.integer, let raw = UInt8(exactly: number),
            let policy = MessageStoragePolicy(rawValue: raw)
        else { throw DecodingFailure("channel.message-storage-policy: expected 0 (none) or 1 (the newest message)") }
        return policy
    }

    private static func channelID(_ object: JSONPart) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard let text = object["apns-channel-id"]?.text, isChannelID(text) else {
            throw DecodingFailure(
                "channel.apns-channel-id: expected base64, at most \(maximumChannelID) characters")
        }
        return text
    }
}
