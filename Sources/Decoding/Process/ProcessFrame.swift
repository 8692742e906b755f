import Core

/// The frames of the protocol with decoder programs, as specified in docs/produce/decoders/process.md.
enum ProcessFrame {
    static let protocolVersion: Int64 = 1
    /// Bytes of the length prefix.
    static let prefix = 4
    /// A batch is closed once it has this many bytes.
    static let fullBatch = 1024 * 1024

    static var hello: [UInt8] {
        var frame = begin()
        JSONOutput.object([
            ("hello", .object([("protocol", .integer(Int(protocolVersion))), ("harebell", .text(Version.text))]))
        ]).append(to: &frame)
        end(&frame)
        return frame
    }

    static func beginMessages(at now: WallTime) -> [UInt8] {
        var frame = begin()
        frame.append("{\"now\":")
        frame.append(decimal: Int(now.seconds))
        frame.append(",\"messages\":[")
        return frame
    }

    static func endMessages(_ frame: inout [UInt8]) {
        frame[frame.count - 1] = UInt8(ascii: "]")
        frame.append(UInt8(ascii: "}"))
        end(&frame)
    }

    private static func begin() -> [UInt8] {
        Array(repeating: 0, count: prefix)
    }

    private static func end(_ frame: inout [UInt8]) {
        let length = UInt32(frame.count - prefix)
        for place in 0..<prefix { frame[place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(place))) }
    }

    /// Appends a message and a comma.
    static func append(_ delivery: Delivery, number: UInt64, to frame: inout [UInt8]) {
        frame.append("{\"id\":")
        frame.append(decimal: number)
        appendBody(delivery.body, to: &frame)
        for property in MessageProperty.allCases {
            guard let text = property.text(of: delivery) else { continue }
            frame.append(",\"")
            frame.append(contentsOf: property.rawValue.utf8)
            frame.append("\":")
            if property == .timestamp { frame += text } else { frame.appendJSON(string: text) }
        }
        frame.append(delivery.redelivered ? ",\"redelivered\":true" : ",\"redelivered\":false")
        appendHeaders(of: delivery, to: &frame)
        frame.append("},")
    }

    private static func appendBody(_ body: ArraySlice<UInt8>, to frame: inout [UInt8]) {
        if isUTF8(body) {
            frame.append(",\"body\":")
            frame.appendJSON(string: body)
        } else {
            frame.append(",\"body-base64\":\"")
            Base64.standard.append(body.span, to: &frame)
            frame.append(UInt8(ascii: "\""))
        }
    }

    private static func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
    }

    private static func appendHeaders(of delivery: Delivery, to frame: inout [UInt8]) {
        guard delivery.headerCount > 0 else { return }
        frame.append(",\"headers\":{")
        delivery.forEachHeader { name, value in
            if case .other = value { return }
            if case .number(let number) = value, !number.isFinite { return }
            if frame.last != UInt8(ascii: "{") { frame.append(UInt8(ascii: ",")) }
            frame.appendJSON(string: name)
            frame.append(UInt8(ascii: ":"))
            switch value {
            case .text(let text): frame.appendJSON(string: text)
            case .integer(let integer): frame.append(decimal: Int(integer))
            case .number(let number): frame.append(contentsOf: "\(number)".utf8)
            case .boolean(let isTrue): frame.append(isTrue ? "true" : "false")
            case .other: break
            }
        }
        frame.append(UInt8(ascii: "}"))
    }
}
