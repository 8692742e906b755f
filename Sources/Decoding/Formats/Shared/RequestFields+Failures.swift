import Core

/// What is wrong with fields, and what can be read nevertheless.
extension RequestFields {
    /// What can be read of the request, although the request is invalid.
    var known: DecodingFailure.Known {
        var known = DecodingFailure.Known()
        if case .one(let target)? = try? parseRecipients() { known.target = target }
        known.topic = try? parseTopic()
        known.environment = try? parseEnvironment()
        known.id = try? parseID(takesRequestID: known.target?.isChannel ?? false)
        return known
    }

    /// A failure with what else is wrong, and what can be read nevertheless.
    ///
    /// - Parameters:
    ///   - payload: `nil` if it is missing or not valid.
    ///   - namesTarget: whether the failure is about the target.
    func explained(
        _ failure: DecodingFailure, payload: ArraySlice<UInt8>?, namesTarget: Bool = false
    ) -> DecodingFailure {
        var details = [failure.detail]
        func check<Value>(_ parse: () throws(DecodingFailure) -> Value) -> Value? {
            do throws(DecodingFailure) {
                return try parse()
            } catch {
                if !details.contains(error.detail) { details.append(error.detail) }
                return nil
            }
        }
        let isBroadcast = namesTarget ? false : check(parseRecipients)?.isBroadcast ?? false
        let type = payload.flatMap { payload in
            check { () throws(DecodingFailure) in try parsePushType(payload: payload, isBroadcast: isBroadcast) }
        }
        if let type, let payload {
            _ = check { () throws(DecodingFailure) in try checkSize(of: payload, type, isBroadcast: isBroadcast) }
            _ = check { () throws(DecodingFailure) in try parsePriority(type, isBroadcast: isBroadcast) }
        }
        _ = check(parseTopic)
        _ = check { () throws(DecodingFailure) in try parseExpiration(isBroadcast: isBroadcast) }
        _ = check { () throws(DecodingFailure) in try checkCollapseID(isBroadcast: isBroadcast) }
        _ = check(parseCollapseID)
        _ = check { () throws(DecodingFailure) in try parseID(takesRequestID: isBroadcast) }
        _ = check(parseEnvironment)
        _ = check { () throws(DecodingFailure) in try parseTime(notBefore, .notBefore) }
        details += nearMisses
        return DecodingFailure(details.joined(separator: "; "), limit: failure.limit, known: known)
    }

    /// The field and, where that differs, its place in the message.
    func place(_ name: Name) -> String {
        guard let source = sources?.description(of: name) else { return name.text.description }
        return "\(name.text) (\(source))"
    }

    func failure(_ name: Name, _ complaint: String) -> DecodingFailure {
        DecodingFailure("\(place(name)): \(complaint)")
    }

    /// A value as an error shows it.
    func shown(_ value: Value) -> String {
        switch value {
        case .missing: "nothing"
        case .integer(let integer): "\(integer)"
        case .other(let kind): kind.description
        case .text(let text): Self.quoted(text)
        }
    }

    /// The beginning of a text from the message, on one line.
    static func quoted(_ text: ArraySlice<UInt8>) -> String {
        let beginning = String(decoding: text.prefix(longestShown), as: UTF8.self)
        return "\"\(ControlCharacters.escaped(beginning, quotes: true))\(text.count > longestShown ? "…" : "")\""
    }

    /// In bytes; shorter than a device token, which an error must not contain.
    static let longestShown = 40

    /// Refuses fields that do not apply: the producer's mistake is reported instead of ignored.
    func expectNone(_ value: Value, _ name: Name, beside other: Name) throws(DecodingFailure) {
        if case .missing = value { return }
        throw failure(name, "expected none beside \(other.text)")
    }
}

extension Notification.Target {
    fileprivate var isChannel: Bool {
        if case .channel = self { true } else { false }
    }
}
