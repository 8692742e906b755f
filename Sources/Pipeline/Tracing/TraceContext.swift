import Core

/// A span as services name it to each other. Source: W3C Trace Context, section 3.2.
package struct TraceContext: Hashable, Sendable {
    /// Bytes of version 00.
    private static let length = 55
    /// The flags that are defined: sampled, and random (Trace Context, level 2).
    private static let knownFlags: UInt8 = 0b11

    package let trace: UInt128
    package let span: UInt64
    private let flags: UInt8

    init(trace: UInt128, span: UInt64, continuing parent: TraceContext?) {
        self.trace = trace
        self.span = span
        flags = (parent?.flags ?? 0) | 1
    }

    /// - Parameter header: a `traceparent`.
    /// - Returns: `nil` if it is not well formed: then its trace ends here.
    package init?(_ header: ArraySlice<UInt8>) {
        let bytes = Array(header.prefix(Self.length + 1))
        guard bytes.count >= Self.length, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.number(bytes[..<2]), version != 0xFF,
            bytes.count == Self.length || version > 0 && bytes[Self.length] == UInt8(ascii: "-"),
            let trace = Self.number(bytes[3..<35]), trace != 0,
            let span = Self.number(bytes[36..<52]), span != 0, let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.trace = trace
        self.span = UInt64(span)
        self.flags = UInt8(flags) & Self.knownFlags
    }

    /// Lower-case digits only.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt128? {
        var number: UInt128 = 0
        for byte in digits {
            guard let digit = byte.hexDigit, byte < UInt8(ascii: "A") || byte > UInt8(ascii: "F") else { return nil }
            number = number << 4 | UInt128(digit)
        }
        return number
    }

    var isSampled: Bool { flags & 1 == 1 }

    package var traceparent: [UInt8] {
        var text = Array("00-".utf8)
        text.append(hex: trace)
        text.append(UInt8(ascii: "-"))
        text.append(hex: span)
        text.append(UInt8(ascii: "-"))
        text.append(hex: flags)
        return text
    }
}
