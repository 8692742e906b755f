import Core

/// Forms in which values reach producers by mistake. Errors name them, without the value.
enum MistakenForms {
    // MARK: Device tokens

    /// Characters around and between the digits of a token.
    private static let separators: Set<Character> = ["<", ">", "\"", "'", " ", ":", "-", "\n", "\r", "\r\n", "\t"]

    private static let tokens: [(form: String, matches: @Sendable (String) -> Bool)] = [
        ("it is empty or not a string", { $0.isEmpty }),
        (
            "it looks like the description of NSData, which leaves out bytes of the token",
            { $0.contains("bytes") && $0.contains("length") || $0.contains("…") || $0.contains("...") }
        ),
        ("it looks like the description of Data, which has no byte of the token", { $0.hasSuffix(" bytes") }),
        ("it looks like an array of bytes: write two hexadecimal digits for each", { $0.hasPrefix("[") }),
        ("it begins with 0x: remove that", { $0.lowercased().hasPrefix("0x") }),
        ("it looks like a UUID, not like a device token", { NotificationID(ArraySlice($0.utf8)) != nil }),
        (
            "it looks like a token of Expo: send that of getDevicePushTokenAsync",
            { $0.hasPrefix("Expo") && $0.contains("PushToken[") }
        ),
        ("it looks like a token of Firebase Cloud Messaging", { $0.contains(":APA91") }),
        (
            "it has quotes, brackets, spaces, colons or line breaks: remove them",
            { token in
                let digits = token.filter { !separators.contains($0) }
                return !digits.isEmpty && digits.count < token.count && digits.allSatisfy(\.isHexDigit)
            }
        ),
        ("it looks like base64: convert its bytes to hexadecimal digits", { isBase64($0, ofBytes: 24...) }),
    ]

    /// - Returns: for the beginning of an error; empty for a form that is not known.
    static func prefix(ofToken text: ArraySlice<UInt8>) -> String {
        if !text.isEmpty, text.allSatisfy({ $0.hexDigit != nil }) { return "it has \(text.count) digits; " }
        // In bytes; a token in any of these forms is shorter.
        let token = String(decoding: text.prefix(1024), as: UTF8.self)
        return tokens.first { $0.matches(token) }.map { "\($0.form); " } ?? ""
    }

    private static func isBase64(_ text: String, ofBytes count: PartialRangeFrom<Int>) -> Bool {
        let digits = text.replacing("-", with: "+").replacing("_", with: "/").prefix { $0 != "=" }
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        return Base64.standard.decode(digits + padding).map { count.contains($0.count) } ?? false
    }

    // MARK: UUIDs

    /// - Returns: for the beginning of an error.
    static func prefix(ofID value: RequestFields.Value) -> String {
        guard case .text(let text) = value else { return "found \(value.shown); " }
        let id = String(decoding: text.prefix(64), as: UTF8.self)
        if id.filter(\.isHexDigit).count == 32 { return "it has no hyphens, or something around it; " }
        if 22...24 ~= id.utf8.count, isBase64(id, ofBytes: 16...) { return "it looks like base64; " }
        return "its length is \(text.count); "
    }

    // MARK: Times

    /// In seconds, from the end of the year 2001: what is less looks like a duration, what is more like another unit.
    static let plausibleTimes: ClosedRange<Int64> = 1_000_000_000...99_999_999_999

    private static let units: [(name: String, most: Int64, perSecond: Int64)] = [
        ("milliseconds", 99_999_999_999_999, 1000), ("microseconds", 99_999_999_999_999_999, 1_000_000),
        ("nanoseconds", .max, 1_000_000_000),
    ]

    /// - Parameter number: the value as an integer, if it is one.
    static func complaint(aboutTime value: RequestFields.Value, _ number: Int64?) -> String {
        let expectation = "expected seconds since 1970 (UTC) as an integer"
        guard let number, number > 0 else {
            var form = value.shown
            if case .text(let text) = value {
                if let time = WallTime(rfc3339: text) { form = "a date in ISO 8601, which is \(time.seconds)" }
                if JSONText.wholeNumber(text) != nil { form += ", a string" }
            }
            return "\(expectation), found \(form)"
        }
        guard number > plausibleTimes.upperBound, let unit = units.first(where: { number <= $0.most }) else {
            return "\(number) looks like a duration; \(expectation): add it to the time of publishing"
        }
        let seconds = number / unit.perSecond
        let example = plausibleTimes.contains(seconds) ? ", such as \(seconds)" : ""
        return "\(number) looks like \(unit.name); \(expectation)\(example)"
    }
}
