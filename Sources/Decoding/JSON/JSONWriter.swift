package import Core

/// Writes JSON byte by byte. Source: RFC 8259, section 7.
extension [UInt8] {
    /// A string in quotes. Bytes that are not UTF-8 become U+FFFD.
    package mutating func appendJSON(string: ArraySlice<UInt8>) {
        append(UInt8(ascii: "\""))
        if JSONScanner.endOfPlainText(string.span, from: 0) == string.count {
            append(contentsOf: string)
        } else {
            for byte in String(decoding: string, as: UTF8.self).utf8 { appendJSON(byte) }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendJSON(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        case 0..<0x20:
            append("\\u00")
            append(hex: byte)
        default: append(byte)
        }
    }
}

extension ByteQueue {
    package mutating func appendJSON(string: ArraySlice<UInt8>) {
        guard JSONScanner.endOfPlainText(string.span, from: 0) == string.count else {
            var escaped: [UInt8] = []
            escaped.appendJSON(string: string)
            return append(escaped)
        }
        append(UInt8(ascii: "\""))
        append(string)
        append(UInt8(ascii: "\""))
    }
}
