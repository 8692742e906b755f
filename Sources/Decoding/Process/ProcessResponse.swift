import Core

enum ProcessResponse {
    case hello(protocol: Int64)
    /// Each with the number of its message.
    case responses([(number: UInt64, response: JSONPart)])

    /// - Throws: if the program does not keep to the protocol.
    init(_ frame: ArraySlice<UInt8>) throws(DecodingFailure) {
        let members = try JSONPart(frame, called: "a frame").members
        if let hello = members["hello"] {
            guard let version = hello["protocol"]?.integer else {
                throw DecodingFailure("hello without a protocol")
            }
            self = .hello(protocol: version)
        } else if let responses = members["answers"], responses.kind == .array {
            var found: [(UInt64, JSONPart)] = []
            for response in responses.elements {
                guard let number = response["id".utf8]?.integer.flatMap({ UInt64(exactly: $0) }) else {
                    throw DecodingFailure("a response without an id")
                }
                found.append((number, response))
            }
            self = .responses(found)
        } else {
            throw DecodingFailure("a frame is neither hello nor answers")
        }
    }

    /// The maximum length of a reason from the program, in bytes.
    static let maximumReason = 500
    static let longestPause: Int64 = 604_800

    static func decoded(_ response: JSONPart) -> Decoded {
        // Copied, because a frame holds many responses and must not be kept in memory for one of them.
        guard let copy = try? JSONPart(ArraySlice(Array(response.raw))) else {
            preconditionFailure("a part of JSON is JSON")
        }
        let members = copy.members
        let key = members["key"]?.text
        if let requests = members["requests"] { return decoded(requests, key: key) }
        if let reason = members["ignore"]?.text { return .ignore(reason: self.reason(reason)) }
        if let reason = members["reject"]?.text { return .reject(DecodingFailure(self.reason(reason)).keyed(key)) }
        if let seconds = members["later"]?.integer, (0...longestPause).contains(seconds) {
            // Zero would ask again at once, for ever.
            return .later(.seconds(max(1, seconds)))
        }
        return .reject(
            DecodingFailure(
                "the decoder's response: expected requests, ignore, reject, or later up to \(longestPause)"))
    }

    private static func decoded(_ requests: JSONPart, key: ArraySlice<UInt8>?) -> Decoded {
        let entries = requests.elements
        guard !entries.isEmpty else {
            return .reject(DecodingFailure("the decoder's response: expected at least one request"))
        }
        do throws(DecodingFailure) {
            var batch = RequestBatch("requests")
            for entry in entries {
                try batch.add { () throws(DecodingFailure) in try APNsJSONDecoder.request(entry.raw) }
            }
            return .request(batch.request(key: key))
        } catch {
            return .reject(error.keyed(key))
        }
    }

    private static func reason(_ text: ArraySlice<UInt8>) -> String {
        ControlCharacters.escaped(String(decoding: text.prefix(maximumReason), as: UTF8.self))
    }
}
