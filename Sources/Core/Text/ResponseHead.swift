/// The head of an HTTP/1 response: its status line and header fields.
package struct ResponseHead: Sendable {
    /// Three digits.
    package let status: Int
    /// The reason phrase; empty if there is none.
    package let phrase: String
    /// The names are in lower case.
    private var fields: [(name: String, value: String)] = []

    /// - Returns: `nil` if the status line is not valid. Lines without a colon are ignored.
    init?(_ bytes: ArraySlice<UInt8>) {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        let words = lines[0].split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count > 1, words[1].count == 3, let status = Self.number(words[1]) else { return nil }
        self.status = status
        phrase = words.count > 2 ? String(decoding: words[2], as: UTF8.self) : ""
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            fields.append((name, Self.trimmed(line[(colon + 1)...])))
        }
    }

    /// The value of the first field with a name in lower case.
    package func value(of name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// In bytes; `nil` for a body that ends with the connection or has chunks. Source: RFC 9112, section 6.3.
    package var bodyLength: Int? {
        if status == 204 || status == 304 { return 0 }
        guard value(of: "transfer-encoding") == nil else { return nil }
        return value(of: "content-length").flatMap { Self.number($0.utf8) }
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int? {
        guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let end = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? value.startIndex
        return String(decoding: value[..<end].drop(while: isSpace), as: UTF8.self)
    }
}

/// Reads the head of an HTTP/1 response that arrives in pieces. It skips interim responses.
///
/// Sources: RFC 9112, sections 2.2, 4 and 5; RFC 9110, section 15.2.
package struct ResponseHeadReader: Sendable {
    package enum Failure: Error {
        /// Another protocol, or an invalid status line.
        case notHTTP
        /// More bytes than the limit.
        case tooLong
    }

    /// The limit for responses without a reason for another one, in bytes.
    package static let defaultLimit = 16 * 1024
    private static let greeting = Array("HTTP/1.".utf8)

    private let limit: Int
    private var bytes: [UInt8] = []
    /// The start of the current response in ``bytes``.
    private var start = 0

    /// - Parameter limit: in bytes, including interim responses.
    package init(limit: Int = defaultLimit) {
        self.limit = limit
    }

    /// - Returns: the head and the number of bytes of `piece` that belong to it; `nil` while it is incomplete.
    package mutating func receive(_ piece: Span<UInt8>) throws(Failure) -> (head: ResponseHead, count: Int)? {
        for index in 0..<piece.count {
            bytes.append(piece[index])
            guard bytes.count <= limit else { throw .tooLong }
            // A complete head of another protocol may never arrive.
            let position = bytes.count - 1 - start
            if position < Self.greeting.count, piece[index] != Self.greeting[position] { throw .notHTTP }
            guard isComplete else { continue }
            guard let head = ResponseHead(bytes[start...]) else { throw .notHTTP }
            if !(100..<200).contains(head.status) { return (head, index + 1) }
            start = bytes.count
        }
        return nil
    }

    /// Whether an empty line has ended the head; a bare line feed also ends a line.
    private var isComplete: Bool {
        let lineFeed = UInt8(ascii: "\n")
        guard bytes.last == lineFeed else { return false }
        let tail = bytes[start...].dropLast()
        return tail.last == lineFeed || (tail.last == UInt8(ascii: "\r") && tail.dropLast().last == lineFeed)
    }
}
