import Core

struct InboxQuery {
    /// The maximum of ``timeout``, in seconds.
    static let maximumTimeout = 60

    /// The maximum of entries in the response.
    private(set) var limit = 100
    /// Only entries with a larger ID.
    private(set) var after: Int?
    /// Only entries with a smaller ID.
    private(set) var before: Int?
    /// How many entries to wait for.
    private(set) var count = 1
    /// Seconds to wait for them.
    private(set) var timeout = 10
    /// In lower case.
    private var deviceToken: [UInt8]?
    private var topic: [UInt8]?

    static let listNames = ["device-token", "topic", "limit", "after", "before"]
    static let waitNames = listNames + ["count", "timeout"]

    /// - Parameters:
    ///   - names: the parameters of the address.
    ///   - size: the maximum of ``count``.
    init(_ parameters: [(name: String, value: String)], names: [String], size: Int) throws(Complaint) {
        var seen: Set<String> = []
        for (name, value) in parameters {
            guard names.contains(name) else {
                let known = names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"
                throw Complaint("unknown parameter \"\(name)\"; \(known)")
            }
            guard seen.insert(name).inserted else { throw Complaint("\(name) is given more than once") }
            switch name {
            case "device-token": deviceToken = try Self.token(value)
            case "topic":
                guard !value.isEmpty else { throw Complaint("topic is empty") }
                topic = Array(value.utf8)
            case "limit": limit = try Self.number(name, value, 1...1000)
            case "after": after = try Self.number(name, value, 0...Int.max)
            case "before": before = try Self.number(name, value, 1...Int.max)
            case "count": count = try Self.number(name, value, 1...size)
            default: timeout = try Self.number(name, value, 0...Self.maximumTimeout)
            }
        }
    }

    func matches(_ entry: InboxEntry) -> Bool {
        (deviceToken.map { $0 == entry.deviceToken } ?? true) && (topic.map { $0 == entry.topic } ?? true)
    }

    private static func token(_ text: String) throws(Complaint) -> [UInt8] {
        guard !text.isEmpty, text.utf8.count % 2 == 0, text.utf8.allSatisfy({ $0.hexDigit != nil }) else {
            throw Complaint("device-token is \"\(text)\", not an even number of hexadecimal digits")
        }
        return Array(text.lowercased().utf8)
    }

    private static func number(_ name: String, _ text: String, _ range: ClosedRange<Int>) throws(Complaint) -> Int {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(text),
            range.contains(number)
        else {
            let upper =
                range.upperBound == .max ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
            throw Complaint("\(name) is \"\(text)\", not a whole number from \(upper)")
        }
        return number
    }
}
