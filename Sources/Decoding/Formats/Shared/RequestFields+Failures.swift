import Core

extension RequestFields {
    /// All that is wrong with a message.
    struct Findings {
        private(set) var details: [String] = []
        /// The first one that was exceeded.
        private(set) var limit: DecodingLimit?

        var isEmpty: Bool { details.isEmpty }

        mutating func add(_ failure: DecodingFailure) {
            limit = limit ?? failure.limit
            if !details.contains(failure.detail) { details.append(failure.detail) }
        }

        /// The value, or `nil` and a finding.
        @discardableResult
        mutating func check<Result>(_ parse: () throws(DecodingFailure) -> Result) -> Result? {
            do throws(DecodingFailure) {
                return try parse()
            } catch {
                add(error)
                return nil
            }
        }
    }

    /// The error for a message: all that is wrong, and what can be read nevertheless.
    ///
    /// - Parameter payload: `nil` if ``findings`` say that there is none.
    func explained(_ payload: ArraySlice<UInt8>?) -> DecodingFailure {
        var findings = findings
        let recipients = isTargetRefused ? nil : findings.check(parseRecipients)
        let isBroadcast = recipients?.isBroadcast ?? false
        let type = payload.flatMap { payload in
            findings.check { () throws(DecodingFailure) in try parsePushType(payload, isBroadcast: isBroadcast) }
        }
        if let type, let payload {
            findings.check { () throws(DecodingFailure) in try checkSize(of: payload, type, isBroadcast: isBroadcast) }
        }
        if isBroadcast {
            findings.check { () throws(DecodingFailure) in try expectNone(collapseID, .collapseID, beside: .channelID) }
        }
        findings.check(parseTopic)
        if let type {
            findings.check { () throws(DecodingFailure) in try parsePriority(type, isBroadcast: isBroadcast) }
        }
        findings.check { () throws(DecodingFailure) in try parseTime(expiration, .expiration) }
        findings.check(parseCollapseID)
        findings.check { () throws(DecodingFailure) in try parseID(takesRequestID: isBroadcast) }
        findings.check(parseEnvironment)
        findings.check { () throws(DecodingFailure) in try parseTime(notBefore, .notBefore) }
        return DecodingFailure(
            (findings.details + nearMisses).joined(separator: "; "), limit: findings.limit, known: known)
    }

    /// What can be read of the request, although the request is invalid.
    var known: DecodingFailure.Known {
        var known = DecodingFailure.Known()
        var isBroadcast = false
        if case .one(let target)? = try? parseRecipients() {
            known.target = target
            if case .channel = target { isBroadcast = true }
        }
        known.topic = try? parseTopic()
        known.environment = try? parseEnvironment()
        known.id = try? parseID(takesRequestID: isBroadcast)
        return known
    }

    /// The field and, where that differs, its place in the message.
    func place(_ name: Name) -> String {
        guard let source = sources?.description(of: name) else { return name.text.description }
        return "\(name.text) (\(source))"
    }

    func failure(_ name: Name, _ complaint: String) -> DecodingFailure {
        DecodingFailure("\(place(name)): \(complaint)")
    }

    /// The beginning of a text from the message, on one line.
    static func quoted(_ text: ArraySlice<UInt8>) -> String {
        let beginning = String(decoding: text.prefix(longestShown), as: UTF8.self)
        return "\"\(ControlCharacters.escaped(beginning, quotes: true))\(text.count > longestShown ? "…" : "")\""
    }

    /// In bytes; shorter than a device token, which an error must not contain.
    static let longestShown = 40

    /// Refuses a field that does not apply: the producer's mistake is reported instead of ignored.
    func expectNone(_ value: Value, _ name: Name, beside other: Name) throws(DecodingFailure) {
        if case .missing = value { return }
        throw failure(name, "expected none beside \(other.text)")
    }

    /// A form in which device tokens reach producers by mistake; `nil` for one that is not known.
    static func form(ofToken text: ArraySlice<UInt8>) -> String? {
        // In bytes; only the beginning is looked at.
        let words = String(decoding: text.prefix(256), as: UTF8.self)
        if text.isEmpty { return "it is empty or not a string" }
        if words.contains("bytes") && words.contains("length") {
            return "it looks like the description of NSData, which leaves out bytes of the token"
        }
        if words.hasPrefix("<") || words.contains(" ") {
            return "it looks like the description of Data: remove brackets and spaces"
        }
        if words.lowercased().hasPrefix("0x") { return "it begins with 0x: remove that" }
        if words.contains(":APA91") { return "it looks like a token of Firebase Cloud Messaging" }
        if text.allSatisfy({ $0.hexDigit != nil }) { return "it has \(text.count) digits" }
        let isUnpadded = text.count % 4 != 1 && text.allSatisfy { $0.isLetterOrDigit(or: "+/-_") }
        let isBase64 = text.count > 32 && (isUnpadded || Base64.standard.decode(text.span) != nil)
        return isBase64 ? "it looks like base64: convert its bytes to hexadecimal digits" : nil
    }
}
