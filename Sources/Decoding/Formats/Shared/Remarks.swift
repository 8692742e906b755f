import Core

/// Mistakes in a message beside its fields, such as unknown keys that look like fields.
struct Remarks {
    /// Further ones are only counted.
    private static let maximumKept = 4
    /// Names beyond this number are not compared, because a message may have many.
    private static let maximumCompared = 64
    /// The first two letters of each field's name, with and without `apns-` or `device-`, and of ``aliases``; of most
    /// names also with one missing, added or exchanged. Names that begin otherwise are not compared, because a
    /// message may have many other headers.
    private static let beginnings: Set<UInt16> = Set(
        [
            "an", "ap", "ay", "bu", "ch", "co", "de", "dv", "ed", "en", "ev", "ex", "ne", "no", "nt", "nv", "on", "ot",
            "pa", "pl", "pn", "pr", "pu", "py", "to", "tt",
        ].map { text in text.utf8.reduce(0) { $0 << 8 | UInt16($1) } })

    /// Names under which other services have a field, in the form of `Suggestion.normal`; also after `apns`.
    private static let aliases: [String: RequestFields.Name] = [
        "apnspush": .pushType, "apnstype": .pushType, "prio": .priority, "pushtoken": .deviceToken, "bundle": .topic,
        "bundleid": .topic, "bundleidentifier": .topic, "ttl": .expiration, "expiry": .expiration,
        "expires": .expiration, "expire": .expiration, "expireat": .expiration, "collapsekey": .collapseID,
        "colapseid": .collapseID,
    ]

    private var kept: [String] = []
    private var others = 0
    private var compared = 0

    var text: String? {
        kept.isEmpty ? nil : kept.joined(separator: "; ") + (others > 0 ? "; and \(others) more" : "")
    }

    mutating func add(_ text: String) {
        guard kept.count < Self.maximumKept else { return others += 1 }
        kept.append(text)
    }

    /// Keeps the name of an unknown key or header if it looks like that of a field.
    mutating func notice(unknown name: Span<UInt8>) {
        guard 3...24 ~= name.count, compared < Self.maximumCompared else { return }
        let isPrefixed = name[1] == UInt8(ascii: "-") && name.lowered.starts(with: "x-apns".utf8)
        let start = isPrefixed ? 2 : 0
        let beginning = UInt16(name[start] | 0x20) << 8 | UInt16(name[start + 1] | 0x20)
        guard Self.beginnings.contains(beginning), name.indices.allSatisfy({ name[$0].isLetterOrDigit(or: "-_") })
        else { return }
        compared += 1
        let text = String(decoding: name.indices.map { name[$0] }, as: UTF8.self)
        if text == "aps" { return add("aps: belongs in payload") }
        guard let field = Self.field(like: String(text.dropFirst(start))) else { return }
        let meaning = field == .expiration ? ", a time in seconds since 1970" : ""
        add("\(text): not a field; did you mean \"\(field.text)\"\(meaning)?")
    }

    private static func field(like text: String) -> RequestFields.Name? {
        let names = RequestFields.Name.allCases
        let word = Suggestion.normal(text)
        let rest = word.starts(with: "apns".utf8) ? Array(word.dropFirst(4)) : word
        if let field = [word, rest].compactMap({ aliases[String(decoding: $0, as: UTF8.self)] }).first { return field }
        let closest = Suggestion.closest(
            to: text, among: names.map(\.text.description), after: ["apns", "device", "payload", "channel"])
        if let closest { return RequestFields.Name(ArraySlice(closest.utf8)) }
        return names.first { name in
            let normal = Suggestion.normal(name.text.description)
            return ["", "apns", "device"].contains { normal == Array($0.utf8) + rest }
        }
    }
}
