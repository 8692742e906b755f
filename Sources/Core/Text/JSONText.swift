package enum JSONText {
    /// The text of a string with escapes.
    ///
    /// - Parameter escaped: the bytes between the quotes, already validated by the scanner.
    /// - Returns: `nil` if an escape is half of a surrogate pair, which UTF-8 cannot represent.
    package static func unescape(_ escaped: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var text: [UInt8] = []
        text.reserveCapacity(escaped.count)
        var rest = escaped
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                text.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                var unit = popUnit(&rest)
                if 0xD800...0xDBFF ~= unit, rest.starts(with: Array("\\u".utf8)) {
                    rest = rest.dropFirst(2)
                    let low = popUnit(&rest)
                    guard 0xDC00...0xDFFF ~= low else { return nil }
                    unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
                }
                guard let scalar = Unicode.Scalar(unit) else { return nil }
                text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: text.append(escape)
            }
        }
        return text[...]
    }

    private static func popUnit(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        var unit: UInt32 = 0
        for digit in rest.prefix(4) { unit = unit << 4 | UInt32(digit.hexDigit ?? 0) }
        rest = rest.dropFirst(4)
        return unit
    }

    /// Reads a whole number, however it is written: `10`, `10.0`, `1.0e1`.
    package static func wholeNumber(_ text: ArraySlice<UInt8>) -> Int64? {
        if let integer = integer(text) { return integer }
        let isDecimal = text.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || "+-.eE".utf8.contains($0) }
        guard isDecimal, text.count <= longestNumber else { return nil }
        return Double(String(decoding: text, as: UTF8.self)).flatMap(wholeNumber)
    }

    /// - Returns: `nil` for a fraction, or beyond the integers that a `Double` represents exactly.
    package static func wholeNumber(_ number: Double) -> Int64? {
        abs(number) <= 0x1p53 ? Int64(exactly: number) : nil
    }

    /// In characters; far above any way to write an integer that matters.
    private static let longestNumber = 32

    /// - Returns: `nil` for a fraction, an exponent, any other text, or more than 64 bits.
    package static func integer(_ digits: ArraySlice<UInt8>) -> Int64? {
        var rest = digits
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        guard !rest.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in rest {
            guard digit &- UInt8(ascii: "0") < 10 else { return nil }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedToo) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !overflowed, !overflowedToo else { return nil }
            value = sum
        }
        return isNegative ? -value : value
    }
}
