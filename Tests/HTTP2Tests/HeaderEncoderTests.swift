import CNghttp2
import Core
import Testing

@testable import HTTP2

@Suite("The encoder of header blocks")
struct HeaderEncoderTests {
    private static func encode(
        _ encoder: inout HeaderEncoder, _ fields: [(HeaderName, String, HTTP2ClientSession.Indexing)]
    ) -> [UInt8] {
        var output = ByteQueue()
        encoder.beginBlock(in: &output)
        for (name, value, indexing) in fields {
            encoder.append(name, Array(value.utf8).span, indexing, to: &output)
        }
        return output.copy()
    }

    @Test("refers to the static table, and to what it put into its own")
    func references() {
        // After RFC 7541, appendix C.3: requests without Huffman coding.
        var encoder = HeaderEncoder()
        let common: [(HeaderName, String, HTTP2ClientSession.Indexing)] = [
            (.method, "GET", .indexed), (.scheme, "http", .indexed),
        ]
        let first = Self.encode(
            &encoder, common + [(.authority, "www.example.com", .indexed), ("cache-control", "no-cache", .indexed)])
        // The RFC's encoder looks up the name `cache-control`, ours only those that requests to APNs have.
        #expect(
            first
                == [0x82, 0x86, 0x41, 0x0f] + Array("www.example.com".utf8) + [0x40, 0x0d]
                + Array("cache-control".utf8) + [0x08] + Array("no-cache".utf8))
        let second = Self.encode(
            &encoder, common + [(.authority, "www.example.com", .indexed), ("cache-control", "no-cache", .indexed)])
        #expect(second == [0x82, 0x86, 0xbf, 0xbe])
    }

    @Test("writes long integers in sevens")
    func integers() {
        // RFC 7541, appendix C.1.2: 1337 in a prefix of five bits is 31, 154, 10.
        var encoder = HeaderEncoder()
        encoder.peerAllows(table: 1337)
        #expect(Self.encode(&encoder, []) == [0x3f, 0x9a, 0x0a])
        #expect(Self.encode(&encoder, []) == [], "what was told is not told again")
    }

    @Test("tells a limit that was lower in between, so that the peer empties its table as well")
    func lowered() {
        var encoder = HeaderEncoder()
        _ = Self.encode(&encoder, [("apns-topic", "com.example.app", .indexed)])
        encoder.peerAllows(table: 0)
        encoder.peerAllows(table: 65_536)
        let block = Self.encode(&encoder, [("apns-topic", "com.example.app", .indexed)])
        #expect(Array(block.prefix(5)) == [0x20, 0x3f, 0xe1, 0x1f, 0x40], "0, then 4096, then the field anew")
        encoder.peerAllows(table: 4096)
        #expect(Self.encode(&encoder, [("apns-topic", "com.example.app", .indexed)]) == [0xbe])
    }

    @Test("keeps its table in step with a decoder, whatever fields and limits come")
    func randomWalk() throws {
        var random = SplitMix64(seed: 7541)
        var encoder = HeaderEncoder()
        let decoder = try Decoder()
        let names: [HeaderName] = [
            .method, .scheme, .path, .authority, .authorization, "apns-topic", "apns-id", "apns-push-type", "x",
        ]
        let methods = ["GET", "POST", "DELETE", "http", "https", "/", ""]
        for _ in 0..<5_000 {
            if Int.random(in: 0..<20, using: &random) == 0 {
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let limit = [0, 40, 100, 500, 4096, 65_536].randomElement(using: &random)!
                    encoder.peerAllows(table: UInt32(limit))
                    decoder.allow(table: limit)
                }
            }
            let fields = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                let value =
                    Bool.random(using: &random)
                    ? methods.randomElement(using: &random)!
                    : String(
                        repeating: ["a", "b", "c"].randomElement(using: &random)!,
                        count: [1, 2, 126, 127, 128, 300, 5000].randomElement(using: &random)!)
                let indexing = [HTTP2ClientSession.Indexing.indexed, .without, .never].randomElement(using: &random)!
                return (names.randomElement(using: &random)!, value, indexing)
            }
            let block = Self.encode(&encoder, fields)
            let decoded = try decoder.decode(block)
            #expect(decoded == fields.map { HTTP2Header($0.0.text.description, $0.1) })
        }
    }

    @Test("A table that the peer made smaller and larger again in one frame is empty")
    func emptied() throws {
        let pair = try Pair()
        try pair.post(1)
        try pair.settle()
        try pair.server.raw.submitSettings([
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0), (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096),
        ])
        try pair.settle()
        for handle in 2...3 {
            try pair.post(UInt32(handle))
            try pair.settle()
        }
        let requests = pair.requests().map(\.request)
        #expect(requests.count == 3 && Set(requests.map(\.headers)).count == 1)
        let topic = requests.map { request in
            zip(request.headers, request.representations).first { $0.0.nameText == "apns-topic" }?.1
        }
        #expect(topic == [.incrementalIndexing, .incrementalIndexing, .indexed])
    }

    @Test("A literal is the field, never indexed and shorter than its text, in whichever block")
    func literal() throws {
        let token = "bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIn0.c2ln"
        let literal = HeaderLiteral(.authorization, Array(token.utf8).span)
        #expect(literal.bytes.count < token.utf8.count)
        #expect(literal.size == "authorization".utf8.count + token.utf8.count + 32)
        #expect(HeaderBlockReader.representations(in: literal.bytes.span) == [.neverIndexed])
        let decoder = try Decoder()
        for _ in 0..<2 {
            #expect(try decoder.decode(literal.bytes) == [HTTP2Header("authorization", token)])
        }
    }
}

/// nghttp2's decoder, as a peer has it.
@safe
private final class Decoder {
    private struct Failure: Error {
        let code: Int
    }

    private let inflater: OpaquePointer

    init() throws {
        var new: OpaquePointer?
        let code = unsafe nghttp2_hd_inflate_new(&new)
        guard code == 0, let new = unsafe new else { throw Failure(code: Int(code)) }
        unsafe inflater = new
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(inflater)
    }

    func allow(table bytes: Int) {
        let code = unsafe nghttp2_hd_inflate_change_table_size(inflater, bytes)
        precondition(code == 0, "out of memory")
    }

    func decode(_ block: [UInt8]) throws -> [HTTP2Header] {
        var fields: [HTTP2Header] = []
        var position = 0
        while true {
            var field = unsafe nghttp2_nv()
            var flags: Int32 = 0
            let count = unsafe block.withUnsafeBufferPointer { bytes in
                unsafe nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, bytes.baseAddress.map { unsafe $0 + position }, bytes.count - position, 1)
            }
            guard count >= 0 else { throw Failure(code: count) }
            position += count
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    unsafe HTTP2Header(
                        name: Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
                        value: Array(UnsafeBufferPointer(start: field.value, count: field.valuelen))))
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
        }
        unsafe nghttp2_hd_inflate_end_headers(inflater)
        return fields
    }
}
