import Core
import Testing

@Suite("The head of an HTTP response")
struct ResponseHeadTests {
    private typealias Found = (head: ResponseHead, rest: String)

    /// The head, and what followed it in the same piece.
    private func read(
        _ text: String, pieces size: Int = .max, limit: Int = ResponseHeadReader.defaultLimit
    ) throws(ResponseHeadReader.Failure) -> Found? {
        var reader = ResponseHeadReader(limit: limit)
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let piece = bytes[start..<min(bytes.count, start + min(size, bytes.count))]
            if let (head, count) = try reader.receive(piece.span) {
                return (head, String(decoding: bytes[(start + count)...], as: UTF8.self))
            }
            start += piece.count
        }
        return nil
    }

    @Test("it has the status, the phrase and the fields, in any pieces, and leaves the body")
    func pieces() throws {
        let text =
            "HTTP/1.1 503 Service Unavailable\r\nContent-TYPE:text/plain; charset=utf-8 \r\nX-Empty:\r\n"
            + "no field\r\ncontent-length: \t12\r\nContent-Length: 13\r\n\r\n"
        for size in 1...(text.utf8.count + 4) {
            let (head, rest) = try #require(try read(text + "\r\n\r\nbody", pieces: size))
            #expect(head.status == 503 && head.phrase == "Service Unavailable")
            #expect(head.value(of: "content-type") == "text/plain; charset=utf-8")
            #expect(head.value(of: "x-empty")?.isEmpty == true && head.value(of: "no field") == nil)
            #expect(head.bodyLength == 12 && rest == "\r\n\r\nbody")
        }
        for count in 0..<text.utf8.count {
            #expect(try read(String(decoding: text.utf8.prefix(count), as: UTF8.self)) == nil)
        }
    }

    @Test("interim responses are skipped")
    func interim() throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 Hints\r\nA: b\r\n\r\nHTTP/1.0 204\n\n"
        for size in 1...text.utf8.count {
            let head = try #require(try read(text, pieces: size)?.head)
            #expect(head.status == 204 && head.phrase.isEmpty && head.value(of: "a") == nil)
        }
    }

    @Test(
        "a body ends at its length, with the connection, or after its chunks",
        arguments: [
            ("200 OK\r\nContent-Length: 0", 0), ("200 OK", nil), ("200 OK\r\nContent-Length: -1", nil),
            ("200 OK\r\nContent-Length: 99999999999999999999", nil), ("200 OK\r\nContent-Length:", nil),
            ("200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked", nil),
            ("204 No Content\r\nContent-Length: 7", 0), ("304 Not Modified", 0),
        ] as [(String, Int?)])
    func bodyLength(text: String, length: Int?) throws {
        #expect(try #require(try read("HTTP/1.1 \(text)\r\n\r\n")).head.bodyLength == length)
    }

    @Test(
        "another protocol fails at its first byte, and a wrong status line at the end of the head",
        arguments: [
            "S", "\u{16}", "HTTP/2", "http/1.1", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTX",
        ])
    func notHTTP(text: String) throws {
        #expect(throws: ResponseHeadReader.Failure.notHTTP) { try read(text) }
        #expect(throws: ResponseHeadReader.Failure.notHTTP) { try read(text, pieces: 1) }
    }

    @Test("a head, with its interim responses, has a limit")
    func limit() throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: \(String(repeating: "b", count: 100))\r\n\r\n"
        #expect(try read(text + "body", limit: text.utf8.count)?.rest == "body")
        #expect(throws: ResponseHeadReader.Failure.tooLong) { try read(text, limit: text.utf8.count - 1) }
        #expect(throws: ResponseHeadReader.Failure.tooLong) {
            try read("HTTP/1.1 200 OK\r\n" + String(repeating: "a", count: ResponseHeadReader.defaultLimit))
        }
    }
}
