import Glibc

extension WallTime {
    /// RFC 3339 in UTC, with milliseconds: `2026-11-21T06:12:19.042Z`.
    package var rfc3339: String {
        let millisecond = milliseconds - seconds * 1000
        return "\(digitsToTheSecond).\(padded(millisecond, 3))Z"
    }

    /// RFC 3339 in UTC, to the second: `2026-11-21T06:12:19Z`.
    package var inUTC: String {
        "\(digitsToTheSecond)Z"
    }

    private var digitsToTheSecond: String {
        var time = time_t(seconds)
        var parts = unsafe tm()
        unsafe gmtime_r(&time, &parts)
        let date = unsafe [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2)]
        let clock = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded($0, 2) }
        return "\(date.joined(separator: "-"))T\(clock.joined(separator: ":"))"
    }

    private func padded(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

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
        guard let millisecond = reader.take(".") ? reader.fraction() : 0, let offset = reader.offset(),
            reader.rest.isEmpty
        else { return nil }
        var date = unsafe tm()
        unsafe date.tm_year = Int32(year) - 1900
        unsafe date.tm_mon = Int32(month) - 1
        unsafe date.tm_mday = Int32(day)
        let midnight = unsafe Int64(timegm(&date))
        // A day that does not exist has become another one.
        guard unsafe date.tm_mon == month - 1 && date.tm_mday == day else { return nil }
        let seconds = midnight + hour * 3600 + minute * 60 + second - offset
        self.init(milliseconds: seconds * 1000 + millisecond)
    }

    /// Parses an RFC 3339 date and time, or an age: a number and `s`, `m`, `h` or `d`, such as `90m` or `3d`.
    package init?(argument text: String, now: WallTime) {
        if let time = WallTime(rfc3339: text.utf8) {
            self = time
            return
        }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        guard let last = text.last, let unit = units[last], let count = Int64(text.dropLast()),
            (0...1_000_000).contains(count)
        else { return nil }
        self.init(milliseconds: now.milliseconds - count * unit * 1000)
    }
}

private struct DigitReader {
    var rest: ArraySlice<UInt8>

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
        let digits = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }
        rest = rest.dropFirst(digits.count)
        let first = (digits.prefix(3) + "00".utf8).prefix(3)
        return digits.isEmpty ? nil : first.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
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
