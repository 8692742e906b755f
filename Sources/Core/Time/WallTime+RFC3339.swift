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
        let days = seconds.flooredQuotient(by: 86400)
        let second = seconds - days * 86400
        let (year, month, day) = Self.date(daysSince1970: days)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    /// The proleptic Gregorian date of a day.
    ///
    /// Counts in eras of 400 years whose years begin in March, so that the leap day is the last day of a year.
    static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Int64 {
    /// The quotient rounded down, also for negative values; the divisor is positive.
    func flooredQuotient(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
