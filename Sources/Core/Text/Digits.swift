extension UInt8 {
    /// The value of a hexadecimal digit in ASCII, upper or lower case.
    package var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    package func isLetterOrDigit(or others: String = "") -> Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: others.utf8.contains(self)
        }
    }
}

extension UInt64 {
    fileprivate func withDecimalDigits(_ body: (Span<UInt8>) -> Void) {
        // The maximum number of digits of a UInt64.
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
        var first = digits.count
        var rest = self
        repeat {
            first -= 1
            digits[first] += UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        body(digits.span.extracting(first..<digits.count))
    }
}

extension Int {
    /// The number of its decimal digits, without a sign.
    package var decimalDigits: Int {
        var (count, rest) = (1, magnitude)
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }
}

extension [UInt8] {
    /// Appends a number as decimal digits, with a minus sign if negative.
    package mutating func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: UInt64(value.magnitude))
    }

    package mutating func append(decimal value: UInt64) {
        guard value >= 10 else { return append(UInt8(ascii: "0") + UInt8(value)) }
        value.withDecimalDigits { append($0) }
    }

    /// Appends all hexadecimal digits of a number, in lower case.
    ///
    /// Inlinable, because a generic function of another module would look up its type at run time for each digit.
    @inlinable
    package mutating func append(hex number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 4, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: number >> shift) & 0xF
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
        }
    }
}

extension ByteQueue {
    /// Appends a number as decimal digits, with a minus sign if negative.
    package mutating func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        UInt64(value.magnitude).withDecimalDigits { append($0) }
    }
}
