import AMQP
import Core
import Commands
import SimulatedWorld
import TestSupport
import Testing

@testable import Decoding

/// Bodies that producers compress.
@Suite("Content encodings")
struct ContentEncodingTests {
    private static let text = Array(#"{"device-token":"7000","payload":{"aps":{"alert":"Hello, hello, hello"}}}"#.utf8)
    private static let limit = 100_000

    private static func decompress(
        _ body: [UInt8], _ encoding: String, limit: Int = limit
    ) throws(DecodingFailure) -> Delivery {
        var delivery = OneOffDelivery(body: body)
        _ = delivery.set(property: "content-encoding", encoding)
        _ = delivery.set(property: "content-type", "application/json")
        return try delivery.delivery.readable(limit: limit)
    }

    private static func complaint(_ body: [UInt8], _ encoding: String, limit: Int = limit) -> DecodingFailure? {
        #expect(throws: DecodingFailure.self) { try decompress(body, encoding, limit: limit) }
    }

    @Test("gzip and deflate restore the body, and keep the other properties", arguments: ["gzip", "x-gzip", "GZip"])
    func gzip(encoding: String) throws {
        let delivery = try Self.decompress(Compressor.gzip(Self.text), encoding)
        #expect(Array(delivery.body) == Self.text)
        #expect(delivery.contentEncoding == nil)
        #expect(string(delivery.contentType) == "application/json")
    }

    @Test("deflate is the zlib format, or its data alone")
    func deflate() throws {
        for body in [Compressor.zlib(Self.text), Compressor.zlib(Self.text, bits: -15)] {
            #expect(Array(try Self.decompress(body, "deflate").body) == Self.text)
        }
        #expect(
            Self.complaint(Compressor.gzip(Self.text), "deflate")?.detail
                == "content-encoding: the body is not deflate data: invalid block type")
    }

    @Test(
        "identity and character sets leave the body unchanged",
        arguments: [
            "identity", "IDENTITY", "", "utf-8", "us-ascii", "utf8", "utf_8", "UTF8", "binary", "8bit", "7bit", "ascii",
            " ", "iso-8859-1", "Latin1", "windows-1252", "UTF-16", "charset=utf-8",
        ])
    func identity(encoding: String) throws {
        #expect(Array(try Self.decompress(Self.text, encoding).body) == Self.text)
    }

    @Test(
        "Other encodings are refused by name",
        arguments: ["br", "zstd", "gzip, gzip", "base64", "utf-8, gzip", "compress"])
    func others(encoding: String) {
        #expect(
            Self.complaint(Self.text, encoding)?.detail
                == "content-encoding: \"\(encoding)\" is not supported; expected gzip, deflate or none")
    }

    @Test("All gzip members of a body are read, but only one zlib stream")
    func members() throws {
        let half = Self.text.count / 2
        let first = Array(Self.text[..<half])
        let second = Array(Self.text[half...])
        let empty = Compressor.gzip([])
        let members = Compressor.gzip(first) + empty + Compressor.gzip(second) + empty
        #expect(Array(try Self.decompress(members, "gzip").body) == Self.text)
        #expect(
            Self.complaint(Compressor.zlib(first) + Compressor.zlib(second), "deflate")?.detail
                == "content-encoding: there are bytes after the zlib data")
    }

    @Test("A truncated body, even an empty one, is refused")
    func truncated() {
        for (body, encoding) in [(Compressor.gzip(Self.text), "gzip"), (Compressor.zlib(Self.text), "deflate")] {
            for length in 0..<body.count {
                let complaint = Self.complaint(Array(body[..<length]), encoding)
                #expect(complaint?.detail.hasPrefix("content-encoding: the body ends before its ") == true, "\(length)")
            }
        }
    }

    @Test("Data behind the last member, a wrong checksum and uncompressed data are refused")
    func damaged() {
        for (body, words) in [
            (Compressor.gzip(Self.text) + [0], "ends before"), (Compressor.gzip(Self.text) + Self.text, "header check"),
            (Self.text, "incorrect header check"), (Array("BZh91AY&SY".utf8), "incorrect header check"),
        ] {
            let complaint = Self.complaint(body, "gzip")
            #expect(complaint?.detail.contains(words) == true, "\(complaint?.detail ?? "accepted")")
        }
        var body = Compressor.gzip(Self.text)
        body[body.count - 5] ^= 1
        #expect(Self.complaint(body, "gzip")?.detail.hasSuffix("incorrect data check") == true)
    }

    @Test(
        "A body may reach the limit after decompression, and a larger one is refused", arguments: ["gzip", "deflate"])
    func limit(encoding: String) throws {
        func compress(_ bytes: [UInt8]) -> [UInt8] {
            encoding == "gzip" ? Compressor.gzip(bytes) : Compressor.zlib(bytes)
        }
        // Repetitions that are farther away than half of the largest window.
        let block = (0..<20_000).map { _ in UInt8.random(in: 32...126) }
        let body = Array(repeatElement(block, count: Self.limit / block.count).joined())
        #expect(try Self.decompress(compress(body), encoding).body.count == Self.limit)
        for size in [Self.limit + 1, 64 * 1_048_576] {
            let bomb = compress([UInt8](repeating: 32, count: size))
            #expect(bomb.count < Self.limit)
            let complaint = try #require(Self.complaint(bomb, encoding))
            #expect(complaint.limit == .body)
            #expect(complaint.detail.contains("broker.max_message_bytes (\(Self.limit)) allows"))
        }
        let member = Compressor.gzip([UInt8](repeating: 32, count: 10_000))
        let members = Array(repeatElement(member, count: 11).joined())
        #expect(Self.complaint(members, "gzip")?.limit == .body)
    }

    @Test("A worker sends a compressed request, and a dead letter of one is unchanged")
    func worker() throws {
        let world = try World(script: "first 1 request: 400 BadMessageId")
        try world.start()
        let body = Compressor.gzip(Array(World.body().utf8))
        for id in ["rejected", "accepted"] {
            var properties = MessageProperties()
            properties.messageID = Array(id.utf8)
            properties.contentEncoding = Array("gzip".utf8)
            try world.broker.put(body, properties: properties, into: "push.requests")
            world.settle()
            #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        }
        #expect(world.published(in: "push.results").map(\.outcome) == ["rejected", "accepted"])
        let letter = try #require(world.broker.messages(in: "push.dead").first)
        #expect(letter.body == body && letter.decodedProperties?.contentEncoding == Array("gzip".utf8))
    }

    @Test("Damaged data never yields more than the limit, and complete data is the original")
    func fuzz() {
        let seeds = [Compressor.gzip(Self.text), Compressor.zlib(Self.text)]
        let seed = Mutator.seed(52)
        var mutator = Mutator(seed: seed, fragments: [[0x1F, 0x8B, 8], [0x78, 0xDA], [0, 0, 0xFF, 0xFF]])
        for number in 0..<Mutator.inputs(3000) {
            var body = seeds[number % 2]
            mutator.damage(&body)
            guard let whole = try? Self.decompress(body, number % 2 == 0 ? "gzip" : "deflate", limit: 500) else {
                continue
            }
            #expect(whole.body.count <= 500, "seed \(seed), input \(number)")
        }
    }
}
