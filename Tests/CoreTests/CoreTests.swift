@testable import Core
import TestSupport
import Testing

@Suite("Time")
struct TimeTests {
    @Test(
        "a wall time is formatted as RFC 3339 in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_795_241_539_042, "2026-11-21T06:12:19.042Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ])
    func timestamps(milliseconds: Int64, text: String) {
        let time = WallTime(milliseconds: milliseconds)
        #expect(time.rfc3339 == text && time.inUTC == text.prefix(19) + "Z")
    }

    @Test("an AMQP timestamp beyond what can be shown is the latest time")
    func amqpTimestamps() {
        #expect(WallTime(timestamp: 1_795_241_539).inUTC == "2026-11-21T06:12:19Z")
        #expect(WallTime(timestamp: .max).inUTC == "292278994-08-17T07:12:55Z")
    }

    @Test("adding to an instant saturates instead of overflowing")
    func saturation() {
        #expect(Instant(nanoseconds: .max - 5) + .seconds(1) == .distantFuture)
        #expect(Duration.seconds(Int64.max / 2).nanoseconds == .max)
        // 2^63 nanoseconds are 9,223,372,036 seconds and a fraction: the whole seconds fit, with the fraction they do
        // not.
        #expect((Duration.seconds(9_223_372_036) + .milliseconds(900)).nanoseconds == .max)
        #expect((Duration.seconds(-9_223_372_036) - .milliseconds(900)).nanoseconds == .min)
        #expect((Duration.seconds(9_223_372_036) + .milliseconds(800)).nanoseconds == 9_223_372_036_800_000_000)
    }
}

@Suite("ByteQueue")
struct ByteQueueTests {
    @Test("bytes are read in the order in which they were written, through any mix of growing and consuming")
    func order() throws {
        var queue = ByteQueue(minimumCapacity: 64)
        var expected: [UInt8] = []
        var random = SplitMix64(seed: 7)
        var next: UInt8 = 0
        for _ in 0..<2000 {
            let chunk = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                next &+= 1
                return next
            }
            queue.append(chunk)
            expected += chunk
            let taken = Int.random(in: 0...queue.count, using: &random)
            let front = queue.withBytes { Array(copying: $0) }.prefix(taken)
            try #require(front.elementsEqual(expected.prefix(taken)))
            queue.consume(taken)
            expected.removeFirst(taken)
        }
        try #require(queue.copy() == expected)
    }

    @Test("moved bytes follow the existing ones, and both queues stay usable", arguments: [0, 1, 5000], [0, 1, 5000])
    func moving(held: Int, moved: Int) {
        func bytes(_ count: Int, from start: UInt8) -> [UInt8] {
            (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0) }
        }
        var queue = ByteQueue()
        var other = ByteQueue()
        queue.append("abc")
        other.append("d")
        queue.append(bytes(held, from: 10))
        other.append(bytes(moved, from: 90))
        // So that neither queue begins at the start of its memory.
        queue.consume(3)
        other.consume(1)

        queue.append(moving: &other)
        #expect(queue.copy() == bytes(held, from: 10) + bytes(moved, from: 90))
        #expect(other.copy().isEmpty)

        other.append("ef")
        queue.append("g")
        #expect(other.copy() == Array("ef".utf8))
        #expect(queue.copy().count == held + moved + 1 && queue.copy().last == UInt8(ascii: "g"))
    }

    @Test("an empty queue keeps its minimum capacity, and releases the memory of a burst")
    func retained() {
        for (count, capacity) in [
            (1, 4096), (100_000, 131_072), (131_073, 131_072), (1_000_000, ByteQueue.retainedCapacity),
        ] {
            var queue = ByteQueue()
            queue.append([UInt8](repeating: 1, count: count))
            queue.consume(count - 1)
            #expect(queue.capacity >= count, "it is not empty")
            queue.consume(1)
            #expect(queue.capacity == capacity)
        }
    }

    @Test("numbers are appended within the capacity, which grows, and overwritten in network byte order")
    func bigEndian() {
        var queue = ByteQueue(minimumCapacity: 1)
        for byte: UInt8 in [0, 0] { queue.append(byte) }
        #expect(queue.capacity >= queue.count)
        queue.append(bigEndian: UInt16(0))
        #expect(queue.capacity >= queue.count)
        queue.append(bigEndian: UInt16(0x0102))
        queue.append("ab")
        queue.overwrite(at: 0, bigEndian: UInt32(0xA1B2_C3D4))
        #expect(queue.copy() == [0xA1, 0xB2, 0xC3, 0xD4, 1, 2, 0x61, 0x62])
    }

    @Test("bytes are equal if none of them differs, at any length and position", arguments: 0..<40)
    func equality(count: Int) {
        let bytes = (0..<count).map { UInt8($0) }
        let areEqual = (-1..<count).map { place in
            var other = bytes
            if place >= 0 { other[place] ^= 1 }
            return bytes.span.equals(other.span)
        }
        #expect(areEqual == [true] + Array(repeating: false, count: count))
    }

    @Test("a partial write keeps only the bytes that the writer reports")
    func partialAppend() {
        var queue = ByteQueue()
        let written = unsafe queue.append(upTo: 100) { room in
            unsafe room[0] = 1
            unsafe room[1] = 2
            return 2
        }
        #expect(written == 2)
        #expect(queue.copy() == [1, 2])
    }
}

@Suite("DeadlineQueue")
struct DeadlineQueueTests {
    @Test(
        "elements are returned by their instant, and in insertion order when it is equal; removed ones are not",
        arguments: [nil, 3])
    func order(kept: Int?) throws {
        var queue = DeadlineQueue<Int>()
        var random = SplitMix64(seed: 3)
        let deadlines = (0..<500).map { Int64.random(in: ($0.isMultiple(of: 3) ? 1 : 0)...50, using: &random) }
        for (index, due) in deadlines.enumerated() { queue.insert(index, due: Instant(nanoseconds: due)) }
        if let kept { _ = queue.removeAll { !$0.isMultiple(of: kept) } }
        try #require(queue.elements.first.map { deadlines[$0] } == queue.earliest.nanoseconds)
        var popped: [Int] = []
        for now in 0...Int64(50) {
            while queue.earliest <= Instant(nanoseconds: now), let index = queue.popFirst() { popped.append(index) }
            try #require(queue.earliest > Instant(nanoseconds: now))
        }
        let expected = stride(from: 0, to: 500, by: kept ?? 1)
        try #require(queue.count == 0 && popped == expected.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) })
    }
}

@Suite("InProcessRetry")
struct InProcessRetryTests {
    @Test("it gives up after its tries or at its horizon, and never waits beyond either")
    func bounds() throws {
        typealias Policy = InProcessRetry
        var random = SplitMix64(seed: 5)
        var longest = Duration.zero
        for _ in 0..<1000 {
            let elapsed = Duration.milliseconds(Int64.random(in: 0...40_000, using: &random))
            for tries in 1...5 {
                let pause = Policy.pause(afterTries: tries, elapsed: elapsed, using: &random)
                if tries >= Policy.maximumTries || elapsed >= Policy.horizon { try #require(pause == nil) }
                if let pause {
                    if tries == 2 { longest = max(longest, pause) }
                    try #require(pause <= Policy.firstPause * (1 << (tries - 1)))
                    try #require(elapsed + pause <= Policy.horizon)
                }
            }
        }
        #expect(longest > Policy.firstPause)
    }
}

@Suite("Core values")
struct WordTests {
    @Test("A device token has hexadecimal digits only, at each position, and keeps them in lower case")
    func deviceTokenDigits() {
        let digits = Array("0123456789abcdef".utf8)
        for place in digits.indices {
            for byte in UInt8.min...UInt8.max {
                var text = digits
                text[place] = byte
                let token = DeviceToken(hex: text[...])
                #expect((token != nil) == (byte.hexDigit != nil), "\(byte) at \(place)")
                if let token {
                    #expect(token.hex.elementsEqual(String(decoding: text, as: UTF8.self).lowercased().utf8))
                }
            }
        }
    }

    @Test("a device token is hexadecimal, even and not empty")
    func deviceTokens() {
        for bad in ["", "abc", "zz", "0x12", String(repeating: "ab", count: 513)] { #expect(DeviceToken(bad) == nil) }
        #expect(DeviceToken("0123456789abcdef").map { "\($0)" } == "01234567…")
    }

    @Test("Each digit of an apns-id is written in its position")
    func notificationIDDigits() throws {
        var random = SplitMix64(seed: 36)
        for _ in 0..<1000 {
            let drawn = Array("\(NotificationID.random(using: &random))")
            #expect(drawn[14] == "4" && "89ab".contains(drawn[19]))
            let id = NotificationID(high: random.next(), low: random.next())
            let digits = [id.high, id.low].map { word in
                let digits = String(word, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
            try #require("\(id)".filter { $0 != "-" } == digits)
            try #require("\(id)".split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        }
    }

    @Test("a notification id reads and writes canonical UUIDs")
    func identifiers() {
        let text = "123e4567-e89b-12d3-a456-426655440000"
        #expect(NotificationID(text).map { "\($0)" } == text)
        #expect(NotificationID(text.uppercased()).map { "\($0)" } == text)
        for bad in ["", "123e4567e89b12d3a456426655440000", text.dropLast() + "g", text + "0"] {
            #expect(NotificationID(String(bad)) == nil)
        }
    }

    @Test("a name-based id carries version 5 and the RFC's variant")
    func nameBased() {
        // RFC 9562, appendix A.4: the SHA-1 of the DNS namespace and "www.example.com".
        let digest: [UInt8] = [
            0x2e, 0xd6, 0x65, 0x7d, 0xe9, 0x27, 0x46, 0x8b, 0x95, 0x5f, 0xc6, 0x7c, 0x5b, 0xfd, 0xb4, 0x30,
        ]
        var variant = digest
        variant[6] = 0x06
        variant[8] = 0xD5
        #expect("\(NotificationID(sha1: variant.span))" == "2ed6657d-e927-568b-955f-c67c5bfdb430")
    }
}

@Suite("Digits")
struct DigitsTests {
    @Test("numbers are written in decimal, including the extremes of their type")
    func decimal() {
        var text: [UInt8] = []
        text.append(decimal: 0)
        text.append(decimal: Int.min)
        text.append(decimal: UInt64.max)
        text.append(decimal: -10)
        #expect(String(decoding: text, as: UTF8.self) == "0\(Int.min)\(UInt64.max)-10")
        var queue = ByteQueue()
        for number in [0, Int.min, Int.max, -10] { queue.append(decimal: number) }
        #expect(String(decoding: queue.copy(), as: UTF8.self) == "0\(Int.min)\(Int.max)-10")
    }

    @Test("a byte is a hexadecimal digit only if its character is one")
    func hexadecimal() {
        for byte in UInt8.min ... .max {
            let character = Character(Unicode.Scalar(byte))
            #expect(byte.hexDigit.map(Int.init) == (byte < 0x80 ? character.hexDigitValue : nil))
        }
    }
}
