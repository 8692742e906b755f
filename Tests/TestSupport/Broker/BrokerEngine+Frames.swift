import Core

/// Reads the fields of a client's method, one after the other; nil at the end.
struct FieldCursor {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        guard let bytes = take(Number.bitWidth / 8) else { return nil }
        return bytes.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    mutating func short() -> [UInt8]? {
        guard let count = number(UInt8.self) else { return nil }
        return take(Int(count)).map(Array.init)
    }

    mutating func long() -> [UInt8]? {
        guard let count = number(UInt32.self) else { return nil }
        return take(Int(count)).map(Array.init)
    }

    mutating func name() -> String? {
        short().map { String(decoding: $0, as: UTF8.self) }
    }

    mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}

/// The payload of the frame being written.
struct FrameBuilder {
    var bytes: [UInt8] = []

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func append(short text: String) {
        append(short: Array(text.utf8))
    }

    mutating func append(short text: [UInt8]) {
        bytes.append(UInt8(text.count))
        bytes += text
    }

    mutating func append(long text: [UInt8]) {
        append(UInt32(text.count))
        bytes += text
    }
}

extension BrokerEngine {
    /// Parses every complete frame of the received bytes.
    func readInput() {
        if phase == .awaitingHeader {
            guard input.count >= 8 else { return }
            guard input.prefix(8).elementsEqual([0x41, 0x4D, 0x51, 0x50, 0, 0, 9, 1]) else {
                output.append([0x41, 0x4D, 0x51, 0x50, 0, 0, 9, 1])
                phase = .closed
                return leave()
            }
            input.removeFirst(8)
            writeStart()
            phase = .awaitingStartOk
        }
        var position = 0
        while !isStopped, phase != .closed, input.count - position >= 8 {
            let size = input[position + 3..<position + 7].reduce(0) { $0 << 8 | Int($1) }
            // A broker that hangs up at a login does not say what was wrong with it. While it closes, it reads even the
            // protocol header here.
            guard size + 8 <= frameMax || phase == .closing || broker.loginRefusal == .hangUp else {
                return violation(code: 501, "a frame of \(size + 8) bytes, allowed are \(frameMax)")
            }
            guard input.count - position >= size + 8 else { break }
            let type = input[position]
            let channel = UInt16(input[position + 1]) << 8 | UInt16(input[position + 2])
            let payload = input[position + 7..<position + 7 + size]
            guard input[position + 7 + size] == 0xCE else { return violation(code: 501, "no frame end") }
            position += size + 8
            frameReceived(type, channel, payload)
        }
        input.removeFirst(min(position, input.count))
    }

    private func frameReceived(_ type: UInt8, _ channel: UInt16, _ payload: ArraySlice<UInt8>) {
        current = max(channel, 1)
        switch type {
        case 1:
            var fields = FieldCursor(payload)
            guard let classID = fields.number(UInt16.self), let methodID = fields.number(UInt16.self) else {
                return violation(code: 502, "a method without a number")
            }
            guard channelState.incoming == nil else {
                return violation(code: 505, "a method in the middle of a publish")
            }
            methodReceived(classID, methodID, channel, &fields)
        case 2: headerReceived(payload)
        case 3: bodyReceived(payload)
        case 8 where channel == 0: heartbeatsReceived += 1
        default: violation(code: 501, "a frame of type \(type)")
        }
    }

    /// The client broke the protocol: the connection ends.
    func violation(code: UInt16, _ what: String) {
        broker.violations.append(what)
        closeConnection(code: code, text: what)
    }

    func writeMethod(
        channel: UInt16? = nil, _ classID: UInt16, _ methodID: UInt16, _ fields: (inout FrameBuilder) -> Void
    ) {
        var frame = FrameBuilder()
        frame.append(classID)
        frame.append(methodID)
        fields(&frame)
        writeFrame(1, channel: channel, frame.bytes[...])
    }

    func writeFrame(_ type: UInt8, channel: UInt16? = nil, _ payload: ArraySlice<UInt8>) {
        output.append(type)
        output.append(bigEndian: channel ?? current)
        output.append(bigEndian: UInt32(payload.count))
        output.append(payload)
        output.append(0xCE as UInt8)
    }

    func writeContent(_ message: Broker.Message) {
        var header = FrameBuilder()
        header.append(60 as UInt16)
        header.append(0 as UInt16)
        header.append(UInt64(message.body.count))
        header.bytes += message.properties
        writeFrame(2, header.bytes[...])
        var rest = message.body[...]
        while !rest.isEmpty {
            writeFrame(3, rest.prefix(frameMax - 8))
            rest = rest.dropFirst(frameMax - 8)
        }
    }

    func writeConfirm(_ tag: UInt64, multiple: Bool, acked: Bool) {
        for number in channelState.unconfirmed.keys.filter({ multiple ? $0 <= tag : $0 == tag }).sorted() {
            guard let message = channelState.unconfirmed.removeValue(forKey: number) else { continue }
            if acked { broker.observe?(.confirmed(message)) }
        }
        writeMethod(60, acked ? 80 : 120) { frame in
            frame.append(tag)
            frame.append(multiple ? 1 as UInt8 : 0)
        }
    }

    private func writeStart() {
        var properties = FrameBuilder()
        for (name, value) in [("product", "Memory"), ("version", "3.10.0")] {
            properties.append(short: name)
            properties.bytes.append(UInt8(ascii: "S"))
            properties.append(long: Array(value.utf8))
        }
        writeMethod(channel: 0, 10, 10) { frame in
            frame.append(0 as UInt8)
            frame.append(9 as UInt8)
            frame.append(long: properties.bytes)
            frame.append(long: Array("AMQPLAIN PLAIN".utf8))
            frame.append(long: Array("en_US".utf8))
        }
    }
}
