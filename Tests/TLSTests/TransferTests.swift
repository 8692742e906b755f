import COpenSSL
import Core
import Testing

@testable import TLS

@Suite
struct TransferTests {
    static let versions = HandshakeTests.versions

    @Test("large transfers arrive in both directions at once", arguments: versions)
    func large(versions: ClosedRange<TLSContext.Version>) throws {
        let pair = try Pair.connected(versions: versions)
        let up = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let down = (0..<2_000_003).map { UInt8(truncatingIfNeeded: $0 &* 17 >> 2) }
        try pair.client.write(up.span)
        try pair.server.write(down.span)
        pair.exchange()
        #expect(try pair.server.readAll() == up)
        #expect(try pair.client.readAll() == down)
    }

    @Test("bytes that arrive in odd parts give the same plaintext", arguments: versions)
    func oddParts(versions: ClosedRange<TLSContext.Version>) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let pair = try Pair.connected(versions: versions)
        var plaintext = ByteQueue()
        let sent = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        plaintext.append(sent)
        try pair.client.write(from: &plaintext)
        #expect(plaintext.count == 0)
        var wire = ByteQueue()
        pair.client.drain(into: &wire)
        var received = ByteQueue()
        while !wire.isEmpty {
            let part = min(wire.count, Int.random(in: 1...40_000, using: &random))
            wire.withBytes { pair.server.receive($0.extracting(first: part)) }
            wire.consume(part)
            // What another call left behind is no failure of this session.
            _ = unsafe BIO_new_file("/nowhere/file", "r")
            while case .bytes = try pair.server.read(into: &received, upTo: Int.random(in: 1...30_000, using: &random))
            {}
        }
        #expect(received.copy() == sent, "seed \(seed)")
    }

    @Test("many small parts are sent in full records")
    func fullRecords() throws {
        let pair = try Pair.connected(versions: .tls13 ... .tls13)
        var plaintext = ByteQueue()
        for _ in 0..<1000 { plaintext.append([UInt8](repeating: 7, count: 100)) }
        try pair.client.write(from: &plaintext)
        var wire = ByteQueue()
        pair.client.drain(into: &wire)
        // Seven records: six of 16 KiB and a rest; each has a header, a content type and a tag (RFC 8446 section 5.2).
        #expect(wire.count == 100_000 + 7 * (5 + 1 + 16))
    }

    @Test("a read returns no more than requested, and of one record")
    func limitedRead() throws {
        let pair = try Pair.connected()
        try pair.client.write([UInt8](repeating: 1, count: 100).span)
        try pair.client.write([2, 3].span)
        pair.exchange()
        var plaintext = ByteQueue()
        #expect(try pair.server.read(into: &plaintext, upTo: 60) == .bytes(60))
        #expect(try pair.server.read(into: &plaintext, upTo: 60) == .bytes(40))
        #expect(try pair.server.read(into: &plaintext, upTo: 60) == .bytes(2))
        #expect(try pair.server.read(into: &plaintext, upTo: 60) == .wantsInput)
    }

    @Test("writing nothing sends nothing")
    func nothing() throws {
        let pair = try Pair.connected()
        var empty = ByteQueue()
        try pair.client.write(from: &empty)
        let none: [UInt8] = []
        try pair.client.write(none.span)
        #expect(!pair.exchange())
    }

    @Test("close_notify ends reading in order, after the data before it", arguments: versions)
    func closeNotify(versions: ClosedRange<TLSContext.Version>) throws {
        let pair = try Pair.connected(versions: versions)
        try pair.client.write([1, 2, 3].span)
        pair.client.close()
        pair.exchange()
        var plaintext = ByteQueue()
        #expect(try pair.server.read(into: &plaintext) == .bytes(3))
        #expect(try pair.server.read(into: &plaintext) == .closed)
        #expect(try pair.server.read(into: &plaintext) == .closed)
        try pair.server.write([4, 5].span)
        pair.server.close()
        pair.exchange()
        #expect(try pair.client.readAll() == [4, 5])
        #expect(try pair.client.read(into: &plaintext) == .closed)
    }

    @Test("damage in transit is an error, reported once the data before it was read", arguments: versions)
    func damage(versions: ClosedRange<TLSContext.Version>) throws {
        let pair = try Pair.connected(versions: versions)
        var wire = ByteQueue()
        try pair.client.write([1].span)
        pair.client.drain(into: &wire)
        let good = wire.count
        try pair.client.write([2].span)
        pair.client.drain(into: &wire)
        var bytes = wire.copy()
        bytes[good + 10] ^= 1
        pair.server.receive(bytes.span)
        var plaintext = ByteQueue()
        #expect(try pair.server.read(into: &plaintext) == .bytes(1))
        for _ in 0..<2 {
            let failure = #expect(throws: TLSError.self) { try pair.server.read(into: &plaintext) }
            #expect(failure?.code.rawValue == "decryption failed or bad record mac")
            #expect(failure?.message == "TLS with the client failed: decryption failed or bad record mac")
        }
        pair.exchange()
        let failure = #expect(throws: TLSError.self) { try pair.client.read(into: &plaintext) }
        #expect(
            failure?.message == "the server server.example ended the TLS connection with the alert \"bad record mac\"")
    }

    @Test("a failure of the system inside OpenSSL has the system's words")
    func systemError() {
        ErrorQueue.clear()
        _ = unsafe BIO_new_file("/nowhere/file", "r")
        #expect(ErrorQueue.take()?.text == "No such file or directory")
    }

    @Test("contexts are freed with their last session")
    func freed() throws {
        /// OpenSSL releases it with its own object.
        final class Tenant {}
        weak var context: TLSContext?
        weak var tenant: Tenant?
        do {
            let pair = try Pair.connected()
            context = pair.client.context
            let new = Tenant()
            tenant = new
            let index = unsafe CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil) {
                _, object, _, _, _, _ in
                if let object = unsafe object { unsafe Unmanaged<Tenant>.fromOpaque(object).release() }
            }
            let result = unsafe SSL_CTX_set_ex_data(
                pair.client.context.pointer, index, Unmanaged.passRetained(new).toOpaque())
            #expect(context != nil && result == 1)
        }
        #expect(context == nil && tenant == nil)
    }
}
