extension WallTime {
    /// Parses an RFC 3339 date and time, with `Z` or an offset. Digits beyond milliseconds are truncated.
    ///
    /// - Returns: `nil` for any other text, and for a day that does not exist in its month.
    package init?(rfc3339 text: some Collection<UInt8>) {
        var reader = DigitReader(rest: ArraySlice(text))
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), hour < 24, reader.take(":"), let minute = reader.number(2), minute < 60,
            reader.take(":"), let second = reader.number(2), second <= 60
        else { return nil }
        var millisecond: Int64 = 0
        if reader.take(".") {
            guard let fraction = reader.fraction() else { return nil }
            millisecond = fraction
        }
        guard let offset = reader.offset(), reader.rest.isEmpty else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        guard Self.date(daysSince1970: days) == (year, month, day) else { return nil }
        let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
        self.init(milliseconds: seconds * 1000 + millisecond)
    }

    /// - Returns: `nil` unless `text` is an RFC 3339 time, such as `2026-09-21T08:00:00Z`.
    package init?(rfc3339 text: String) {
        self.init(rfc3339: text.utf8)
    }

    /// Parses an RFC 3339 date and time, or an age: a number and `s`, `m`, `h` or `d`, such as `90m` or `3d`.
    package init?(argument text: String, now: WallTime) {
        if let time = WallTime(rfc3339: text) {
            self = time
            return
        }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        guard let last = text.last, let unit = units[last], let count = Int64(text.dropLast()),
            (0...1_000_000).contains(count)
        else { return nil }
        self.init(milliseconds: now.milliseconds - count * unit * 1000)
    }

    /// The inverse of ``date(daysSince1970:)``; also accepts days that do not exist.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = yearFromMarch.flooredQuotient(by: 400)
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

/// Reads digits and signs in sequence.
private struct DigitReader {
    private(set) var rest: ArraySlice<UInt8>

    init(rest: ArraySlice<UInt8>) {
        self.rest = rest
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a number with exactly this many digits.
    mutating func number(_ digits: Int) -> Int64? {
        guard rest.count >= digits else { return nil }
        var value: Int64 = 0
        for _ in 0..<digits {
            let digit = rest.removeFirst() &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    /// The fraction after the decimal point, as milliseconds.
    mutating func fraction() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let digit = rest.first.map({ $0 &- UInt8(ascii: "0") }), digit < 10 {
            rest.removeFirst()
            if count < 3 { value = value * 10 + Int64(digit) }
            count += 1
        }
        for _ in count..<max(count, 3) { value *= 10 }
        return count > 0 ? value : nil
    }

    /// `Z`, or the offset east of UTC in hours and minutes; in seconds.
    mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(2), hours < 24, take(":"), let minutes = number(2), minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return isWest ? -seconds : seconds
    }
}
