// A decoder for Harebell in Swift: see docs/produce/decoders/process.md.
//
// It reads orders such as {"state": "shipped", "device": "00fc…", "title": "Your order", "text": "is ready"}.
// What it prints goes to Harebell: messages for people go to standard error.

import Foundation

/// What the shop publishes.
struct Order: Decodable {
    let state: String
    let device: String?
    let title: String
    let text: String
    /// Seconds since 1970.
    let notBefore: Int?
}

/// A request, in Harebell's JSON.
struct Request: Encodable {
    let deviceToken: String
    let apnsTopic = "com.example.app"
    let apnsPushType = "alert"
    let payload: Payload

    struct Payload: Encodable {
        let aps: APS
    }

    struct APS: Encodable {
        let alert: [String: String]
    }

    enum CodingKeys: String, CodingKey {
        case deviceToken = "device-token"
        case apnsTopic = "apns-topic"
        case apnsPushType = "apns-push-type"
        case payload
    }
}

/// The result for one message: exactly one member besides the id.
struct Answer: Encodable {
    let id: Int
    var requests: [Request]?
    var ignore: String?
    var reject: String?
    /// In seconds.
    var later: Int?

    init(_ message: Batch.Message, at now: Int) {
        id = message.id
        guard let order = try? JSONDecoder().decode(Order.self, from: Data((message.body ?? "").utf8)) else {
            // No details: they may have a device token in them.
            reject = "not an order"
            return
        }
        guard order.state != "draft" else {
            ignore = "a draft"
            return
        }
        if let start = order.notBefore, start > now {
            later = start - now
            return
        }
        guard let device = order.device else {
            reject = "device: missing"
            return
        }
        let alert = ["title": order.title, "body": order.text]
        requests = [Request(deviceToken: device, payload: .init(aps: .init(alert: alert)))]
    }
}

/// A frame from Harebell. The first one, `hello`, has no messages.
struct Batch: Decodable {
    let now: Int?
    let messages: [Message]?

    struct Message: Decodable {
        let id: Int
        /// Missing if the body is not UTF-8.
        let body: String?
    }
}

@main
enum Main {
    static func main() throws {
        try write(["hello": ["protocol": 1]])
        while let frame = try read() {
            let batch = try JSONDecoder().decode(Batch.self, from: frame)
            guard let messages = batch.messages else { continue }
            try write(["answers": messages.map { Answer($0, at: batch.now ?? 0) }])
        }
    }

    /// The content of the next frame; `nil` at the end.
    static func read() throws -> Data? {
        let input = FileHandle.standardInput
        guard let head = try input.read(upToCount: 4), head.count == 4 else { return nil }
        return try input.read(upToCount: head.reduce(0) { $0 << 8 | Int($1) })
    }

    static func write(_ frame: some Encodable) throws {
        let encoder = JSONEncoder()
        // The same message gives the same bytes.
        encoder.outputFormatting = .sortedKeys
        let content = try encoder.encode(frame)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: content.count >> $0) }
        try FileHandle.standardOutput.write(contentsOf: Data(length) + content)
    }
}
