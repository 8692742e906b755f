import Core

/// The format of frames; sizes in bytes. Source: AMQP 0-9-1, sections 4.2.2, 4.2.3 and 4.2.6.
enum FrameFormat {
    enum Kind: UInt8 {
        case method = 1
        case header = 2
        case body = 3
        case heartbeat = 8
    }

    static let protocolHeader: [UInt8] = [0x41, 0x4D, 0x51, 0x50, 0, 0, 9, 1]
    /// Type, channel and size.
    static let headerSize = 7
    static let end: UInt8 = 0xCE
    static let heartbeat: [UInt8] = [Kind.heartbeat.rawValue, 0, 0, 0, 0, 0, 0, end]
    /// The header and the end.
    static let overhead = headerSize + 1
    /// Class, weight and body size at the beginning of a content header.
    static let contentHeaderSize = 12
}

extension ByteQueue {
    /// - Parameter size: of what follows until ``endFrame()``, in bytes.
    @inline(__always)
    mutating func beginFrame(_ kind: FrameFormat.Kind, channel: UInt16, size: Int) {
        append(kind.rawValue)
        append(bigEndian: channel)
        append(bigEndian: UInt32(size))
    }

    @inline(__always)
    mutating func endFrame() {
        append(FrameFormat.end)
    }

    @inline(__always)
    mutating func append(short text: ArraySlice<UInt8>) {
        append(UInt8(text.count))
        append(text.span)
    }
}
