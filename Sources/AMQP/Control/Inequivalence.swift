/// A difference between a queue or exchange and its declaration, parsed from RabbitMQ's 406 reply text.
///
/// RabbitMQ names only the first difference: `inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received
/// '2000' but current is '1000'`. If only one side has a value, the text has `none` and `the value '1000' of type
/// 'signedint'`. Source: rabbit_misc.erl, `assert_args_equivalence`. AMQP 0-9-1 has no other method to read a queue's
/// arguments.
package struct Inequivalence: Sendable, Equatable {
    /// An argument such as `x-message-ttl`, or `durable`, `auto_delete`, `type` …
    package let name: String
    /// The declared value; `nil` for none.
    package let wanted: String?
    /// The value on the broker; `nil` for none.
    package let current: String?
    /// The broker's name for the type of ``current``, if it gave one.
    let currentType: String?

    /// - Returns: `nil` for another error, and for a text that AMQP's limit of 255 bytes has truncated.
    package init?(_ error: AMQPError) {
        guard error.replyCode == 406, let start = error.message.range(of: "inequivalent arg '") else { return nil }
        let text = error.message[start.upperBound...]
        guard let nameEnd = text.firstIndex(of: "'"),
            let received = text.range(of: "': received "),
            let current = text[received.upperBound...].range(of: " but current is "),
            let wantedValue = Self.value(text[received.upperBound..<current.lowerBound]),
            let currentValue = Self.value(text[current.upperBound...])
        else { return nil }
        name = String(text[..<nameEnd])
        wanted = wantedValue.text
        self.current = currentValue.text
        currentType = currentValue.type
    }

    /// `none`, `'value'` or `the value 'value' of type 'type'`.
    private static func value(_ text: Substring) -> (text: String?, type: String?)? {
        if text == "none" { return (nil, nil) }
        var rest = text
        var type: String?
        if rest.hasPrefix("the value ") {
            guard let mark = rest.range(ofLast: " of type ") else { return nil }
            guard let name = quoted(rest[mark.upperBound...]) else { return nil }
            type = name
            rest = rest[..<mark.lowerBound].dropFirst("the value ".count)
        }
        return quoted(rest).map { ($0, type) }
    }

    private static func quoted(_ text: Substring) -> String? {
        guard text.count >= 2, text.first == "'", text.last == "'" else { return nil }
        return String(text.dropFirst().dropLast())
    }

    private func shown(_ value: String?) -> String {
        // A queue without a declared type is a classic queue.
        guard let value else { return name == "x-queue-type" ? "classic" : "not set" }
        return value.isEmpty ? "\"\"" : value
    }

    // MARK: Current values

    /// Changes one property of a declaration to the current value, so that the broker reports the next difference.
    ///
    /// - Returns: false if the broker's text does not contain enough information.
    func apply(to queue: inout QueueDeclaration) -> Bool {
        switch name {
        case "durable": queue.durable = current == "true"
        case "auto_delete": queue.autoDelete = current == "true"
        case "exclusive": queue.exclusive = current == "true"
        case _ where name.hasPrefix("x-"): return apply(to: &queue.arguments)
        default: return false
        }
        return true
    }

    func apply(to exchange: inout ExchangeDeclaration) -> Bool {
        switch name {
        case "type": exchange.type = current ?? ""
        case "durable": exchange.durable = current == "true"
        case "auto_delete": exchange.autoDelete = current == "true"
        case _ where !["internal", "type"].contains(name): return apply(to: &exchange.arguments)
        default: return false
        }
        return true
    }

    private func apply(to arguments: inout FieldTable) -> Bool {
        guard let current else {
            arguments[name] = nil
            return true
        }
        // Without a type, use that of the declared value: the broker then compares the bare values.
        switch (currentType, arguments[name]) {
        case ("longstr", _), (nil, .text): arguments[name] = .string(current)
        case ("bool", _), (nil, .boolean): arguments[name] = .boolean(current == "true")
        default:
            guard let number = Int64(current) else { return false }
            arguments[name] = .int64(number)
        }
        return true
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The first occurrence of a text.
    fileprivate func range(of text: String) -> Range<Index>? {
        indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }

    fileprivate func range(ofLast text: String) -> Range<Index>? {
        indices.last { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }
}

extension Inequivalence: CustomStringConvertible {
    /// `x-queue-type is classic, wanted quorum`.
    package var description: String {
        "\(name) is \(shown(current)), wanted \(shown(wanted))"
    }
}
