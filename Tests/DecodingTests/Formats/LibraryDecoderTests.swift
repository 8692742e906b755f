import AMQP
import Core
import Glibc
import System
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Decoding

/// Results of a queue's decoder in a shared library.
struct LibraryDecoderTests {
    /// The lines below `decoders:`; the path is in line 6, the options in line 7.
    private static func decoders(_ path: String, _ options: String = "{}") -> String {
        "  - name: mine\n    library:\n      file: \(path)\n      options: '\(options)'"
    }

    private static func problems(_ library: CompiledLibrary, _ options: String = "{}") -> [String] {
        DecoderSample.problems(decoders(library.path, options))
            .map { $0.replacing(library.path, with: "FILE").replacing(library.folder.path, with: "FOLDER") }
    }

    private static func sample(
        _ library: CompiledLibrary, _ body: String, _ options: String = "{}",
        headers: [(String, OneOffDelivery.HeaderValue)] = []
    ) -> DecoderSample {
        DecoderSample(body, decoder: "mine", decoders: decoders(library.path, options), headers: headers)
    }

    @Suite struct Example {
        private let library: CompiledLibrary
        private static let options = #"{"topic":"com.example.pager"}"#

        init() throws {
            library = try CompiledLibrary("docs/produce/examples/c-decoder/pager.c")
        }

        private func sample(_ body: String, headers: [(String, OneOffDelivery.HeaderValue)] = []) -> DecoderSample {
            LibraryDecoderTests.sample(library, body, Self.options, headers: headers)
        }

        @Test func `the example in C makes one notification for each device`() throws {
            let request = try sample("00fc,11fc\nDisk \"full\"\na\tb\n").request()
            #expect(request.notifications.map(\.hex) == ["00fc", "11fc"])
            for notification in request.notifications {
                #expect(
                    string(notification.payload)
                        == #"{"aps":{"alert":{"title":"Disk \"full\"","body":"a\u0009b\u000a"}}}"#)
                #expect(string(notification.topic) == "com.example.pager" && notification.pushType == .alert)
            }
        }

        @Test func `the example in C ignores, rejects and puts off`() throws {
            #expect(try sample("").decoded().ignored == "an empty page")
            #expect(try sample("00fc\n\n").complaint() == "line 2: expected a title")
            #expect(try sample("xyz\nT\n").complaint().hasPrefix("device-token: expected an even number"))
            let due = OneOffDelivery.HeaderValue.integer(DecoderSample.now.seconds + 90)
            #expect(try sample("00fc\nT", headers: [("not-before", due)]).decoded().pause == .seconds(90))
        }

        @Test func `the example in C says what is wrong with its options`() {
            #expect(
                LibraryDecoderTests.problems(library, #"{"topik":"x"}"#) == [
                    "f:7:16: decoders[0].library.options: pager: topic: expected a bundle ID of 1 to 255 bytes, "
                        + "and no other key before it"
                ])
        }

        @Test func `a library beside the configuration file is found from there`() throws {
            let folder = library.folder
            let file = try folder.write(
                """
                queues: [{ name: q, decoder: mine }]
                apps: [{ topic: com.example.app, token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ } }]
                decoders: [{ name: mine, library: { file: library.so, options: '{"topic":"t"}' } }]
                """, to: "harebell.yaml")
            let configuration = try ConfigurationDocument.load(path: file).configuration
            let decoder = try #require(DecoderSet(configuration.decoders)["mine"])
            _ = try decoder.decode(sample("00fc\nT").delivery, at: DecoderSample.now).get()
        }

        @Test func `the example in C responses whatever happens to a page`() throws {
            let decoder = try #require(try DecoderSample.set(sample("").decoders)["mine"])
            var random = SplitMix64(seed: 20_260_921)
            var responses = [0, 0]
            for _ in 0..<2000 {
                var page = sample("00fc13adff785122,11fc13adff785122\nDisk full\ndb-3 has 2 % left.\n")
                for _ in 0...Int.random(in: 0...3, using: &random) {
                    let place = Int.random(in: 0..<page.body.count, using: &random)
                    page.body[place] = [0x0A, 0x2C, 0x22, 0xFF, 0x00, 0x5C].randomElement(using: &random) ?? 0
                }
                switch decoder.decode(page.delivery, at: DecoderSample.now) {
                case .request(let request):
                    responses[0] += 1
                    for notification in request.notifications { try RequestFields.payload(notification.payload) }
                case .reject: responses[1] += 1
                case .ignore, .later: throw TestSupportError("a page is neither empty nor early")
                }
            }
            #expect(responses[0] > 0 && responses[1] > 0, "\(responses)")
        }
    }

    @Suite struct Loading {
        @Test(arguments: [
            ("ENTRY=other", "FILE does not export a function harebell_decoder"),
            ("REFUSE=\"too old\"", "FILE has no decoder for the interface 1: too old"), ("REFUSE=NULL", nil),
            ("TABLE_ABI=2", "FILE was built for interface 2, expected 1"),
            ("TABLE_SIZE=16", "the table of FILE has 16 bytes, expected at least 72"),
            ("TABLE_CREATE=NULL", "the table of FILE lacks create, decode or destroy"),
            ("TABLE_DECODE=NULL", "the table of FILE lacks create, decode or destroy"),
            ("TABLE_DESTROY=NULL", "the table of FILE lacks create, decode or destroy"),
            ("TABLE_VERSION=\"\"", "the table of FILE has no version of 1 to 64 bytes of UTF-8"),
            ("TABLE_NAME=\"\"", "the table of FILE has no name of 1 to 64 bytes of UTF-8"),
            ("TABLE_NAME=\"\\xff\"", "the table of FILE has no name of 1 to 64 bytes of UTF-8"),
        ]) func `a library with a spoiled table is told with the place of its path`(
            definition: String, problem: String?
        ) throws {
            let library = try CompiledLibrary.unruly(definition)
            #expect(
                LibraryDecoderTests.problems(library) == [
                    "f:6:13: decoders[0].library.file: "
                        + (problem ?? "FILE has no decoder for the interface 1: no reason given")
                ])
        }

        @Test func `what a library says against its options is told with their place`() throws {
            let library = try CompiledLibrary.unruly()
            let cases = [
                (#"{"nothing":1}"#, ["the library refuses these options without a reason"]),
                (#"{"first":1,"second":2}"#, ["first: is wrong", "second: is \u{FFFD} wrong"]),
                (#"{"mute":1}"#, ["the library reports an error without a reason"]),
                (#"{"endless":1}"#, Array(repeating: "again", count: 32)),
            ]
            for (options, messages) in cases {
                #expect(
                    LibraryDecoderTests.problems(library, options)
                        == messages.map { "f:7:16: decoders[0].library.options: unruly: \($0)" })
            }
        }

        @Test func `options that are no JSON object are refused`() throws {
            let library = try CompiledLibrary.unruly()
            for options in ["xy", "[]", "{ ", "{} {}"] {
                #expect(
                    LibraryDecoderTests.problems(library, options) == [
                        "f:7:16: decoders[0].library.options: expected the text of a JSON object"
                    ])
            }
        }

        @Test func `a library needs a section of its own`() {
            let problems = DecoderSample.problems("", queue: "library")
            #expect(problems.contains { $0.hasSuffix("\"library\" has options: name an entry of decoders with them") })
        }

        @Test func `what is no library is not loaded`() throws {
            let folder = try TemporaryDirectory()
            let text = try folder.write("int main;", to: "text.so")
            for (path, part) in [
                (folder.file("nowhere.so"), "No such file or directory"), (folder.path, "is not a file"), (text, text),
            ] {
                let problems = DecoderSample.problems(LibraryDecoderTests.decoders(path))
                #expect(
                    problems.count == 1 && problems[0].hasPrefix("f:6:13: decoders[0].library.file: "), "\(problems)")
                #expect(problems.first?.contains(part) == true)
            }
        }

        @Test func `a library that others can change is not loaded, nor one in such a folder`() throws {
            let library = try CompiledLibrary.unruly("TABLE_NAME=\"\(String(repeating: "n", count: 64))\"")
            #expect(LibraryDecoderTests.problems(library).isEmpty)
            unsafe chmod(library.path, 0o775)
            #expect(
                LibraryDecoderTests.problems(library) == [
                    "f:6:13: decoders[0].library.file: users other than its owner can change FILE: chmod go-w FILE"
                ])
            unsafe chmod(library.path, 0o755)
            unsafe chmod(library.folder.path, 0o1777)
            #expect(
                LibraryDecoderTests.problems(library) == [
                    "f:6:13: decoders[0].library.file: users other than its owner can change FOLDER: chmod go-w FOLDER"
                ])
        }

        @Test func `a link is as good as what it leads to, also to a file of root's`() throws {
            _ = try TrustedFile.resolve("/bin/sh", for: 12345)
            let library = try CompiledLibrary.unruly()
            let folder = try TemporaryDirectory()
            #expect(unsafe symlink(library.path, folder.file("link.so")) == 0)
            let decoders = LibraryDecoderTests.decoders(folder.file("link.so"))
            #expect(DecoderSample.problems(decoders).isEmpty)
            unsafe chmod(library.path, 0o757)
            #expect(DecoderSample.problems(decoders).count == 1)
        }

        @Test(.enabled(if: geteuid() == 0)) func `another user's library is not loaded`() throws {
            let library = try CompiledLibrary.unruly()
            #expect(unsafe chown(library.path, 12345, 0) == 0)
            #expect(
                LibraryDecoderTests.problems(library) == [
                    "f:6:13: decoders[0].library.file: FILE belongs to user 12345: expected root or harebell's user, 0"
                ])
        }
    }

    @Suite struct Answers {
        private let library: CompiledLibrary

        init() throws {
            library = try CompiledLibrary.unruly()
        }

        private func sample(_ body: String) -> DecoderSample {
            LibraryDecoderTests.sample(library, body)
        }

        private static let outOfOrder = [
            ("nothing", "library: its answer has no answer"),
            ("unknown", "library: its answer has the unknown kind of answer 99"), ("reject", "not \u{FFFD} good"),
            ("reject mutely", "the library gives no reason"), ("reject at length", String(repeating: "x", count: 512)),
            ("much later", "library: its answer has 18446744073709551615 seconds, expected at most 31536000"),
            ("501", "library: 501 notifications, expected at most 500"),
            ("no end", "library: its answer has a request without notifications"),
            ("none", "library: its answer has a request without notifications"),
            ("nowhere", "library: its answer has a request without notifications"),
            ("small struct", "library: its answer has a notification_size of 8"),
            ("vast struct", "library: its answer has a notification_size of 9223372036854775807"),
            ("text at NULL", "library: its answer has topic: 5 bytes at NULL"),
            ("endless text", "library: its answer has topic: 18446744073709551615 bytes, expected at most 65536"),
            ("key at NULL", "library: its answer has key: 1 bytes at NULL"), ("no payload", "payload: missing"),
            ("empty payload", "payload: empty, expected JSON"),
            ("payload that is no UTF-8", "payload: not JSON: expected UTF-8 at byte 17"),
            ("payload that is no JSON", "payload: not JSON: expected a value at byte 7"),
            ("topic that is no header", "apns-topic: expected 1 to 255 visible ASCII characters"),
            ("priority", "apns-priority: expected 1, 5 or 10"),
            ("expiration", "apns-expiration: expected seconds since 1970 (UTC) as an integer, found -"),
        ]

        // A single test, because each would compile a library.
        @Test func `an response that is out of order rejects the message`() throws {
            for (body, complaint) in Self.outOfOrder {
                #expect(try sample(body).complaint().hasPrefix(complaint), "\(body)")
            }
            let failure = try #require(try sample("no payload").decoded().failure)
            #expect(failure.known?.target != nil && string(failure.key) == "the key")
            #expect(string(try sample("reject").decoded().failure?.key) == "the key")
        }

        @Test func `a notification of several that cannot be sent costs only itself`() throws {
            let request = try sample("three, one wrong").request()
            #expect(request.notifications.count == 2 && request.refusals.map(\.position) == [1])
            let detail = "notifications[1].device-token: expected an even number of hexadecimal digits, at most 1024"
            #expect(request.refusals.map(\.failure.detail) == [detail])
        }

        @Test func `too many notifications are beyond the limit of device tokens`() throws {
            #expect(try sample("501").decoded().failure?.limit == .tokens)
            #expect(try sample("500").request().count == 500)
        }

        @Test func `a notification has all fields that a library gives it`() throws {
            let notification = try sample("all fields").notification()
            #expect(notification.hex == "00fc")
            #expect(string(notification.topic) == "com.example.app" && notification.pushType == .voip)
            #expect(notification.id?.description == "0b5bbbb0-7a2f-4f3c-9a4c-7d4a3c2b1a00")
            #expect(string(notification.collapseID) == "c" && notification.environment == .development)
            #expect(notification.expiration == 1_795_300_000 && notification.priority == .considerate)
            #expect(string(notification.payload) == #"{"aps":{"alert":"a"}}"#)
            #expect(string(try sample("all fields").request().key) == "the key")
        }

        @Test func `a library may broadcast`() throws {
            guard case .channel(let id) = try sample("broadcast").notification().target else {
                throw TestSupportError("no broadcast")
            }
            #expect(string(id) == "dHN0LXNyY2gtY2hubA==")
        }

        @Test func `notifications stay in their order, however large a library's struct is`() throws {
            let notifications = try sample("three").request().notifications
            #expect(notifications.map(\.hex) == ["00fc", "11fc", "22fc"])
            let payloads = notifications.map { string($0.payload) }
            #expect(payloads == ["a", "b", "a"].map { #"{"aps":{"alert":"\#($0)"}}"# })
        }

        @Test func `what lies in the message is not copied`() throws {
            let sample = sample(#"{"aps":{"alert":"in the message"}}"#)
            let delivery = sample.delivery
            let decoder = try #require(try DecoderSample.set(sample.decoders)["mine"])
            let payload = try decoder.decode(delivery, at: DecoderSample.now).get().notifications[0].payload
            let isShared = unsafe payload.withUnsafeBufferPointer { payload in
                unsafe delivery.body.withUnsafeBufferPointer { unsafe $0.baseAddress == payload.baseAddress }
            }
            #expect(isShared)
            #expect(payload == delivery.body)
        }

        @Test func `a library that would decode again at once does so after a second`() throws {
            #expect(try sample("later").decoded().pause == .seconds(1))
        }

        @Test func `a library sees the whole message`() throws {
            var sample = LibraryDecoderTests.sample(
                library, "describe", "{}",
                headers: [
                    ("text", .text("t")), ("integer", .integer(-5)), ("boolean", .boolean(true)), ("empty", .text("")),
                ])
            sample.properties = [
                ("content-type", "ct"), ("content-encoding", "ce"), ("message-id", "mi"), ("correlation-id", ""),
                ("type", "ty"), ("app-id", "ai"), ("expiration", "60"), ("exchange", "ex"), ("routing-key", "rk"),
                ("timestamp", "1790000000"),
            ]
            var delivery = sample.delivery
            delivery.redelivered = true
            let decoder = try #require(try DecoderSample.set(sample.decoders)["mine"])
            #expect(
                decoder.decode(delivery, at: DecoderSample.now).ignored
                    == "ct|ce|mi||NULL|ty|ai|60|ex|rk|1 1790000000 1 \(DecoderSample.now.milliseconds)|"
                    + "text=1,t,0,0,0|integer=2,,-5,0,0|boolean=4,,0,1,0|empty=1,,0,0,0|")
            delivery = try DeadLetterSamples.delivery(["n": .double(0.5)], body: "describe")
            let number = decoder.decode(delivery, at: DecoderSample.now)
            #expect(number.ignored?.hasSuffix("n=3,,0,0,0.5|") == true)
        }

        @Test func `a library gets no more memory for a call than the interface says, and all of it each time`() throws
        {
            let decoder = try #require(try DecoderSample.set(sample("").decoders)["mine"])
            for _ in 0..<3 {
                let decoded = decoder.decode(sample("memory").delivery, at: DecoderSample.now)
                #expect(decoded.ignored == "4194 none")
            }
            var addresses: Set<UInt> = []
            for _ in 0..<100 { addresses.insert(UInt(bitPattern: unsafe LibraryCall().allocate(4_000_000))) }
            #expect(addresses.count < 100, "it is freed with its call")
            #expect(unsafe LibraryCall().allocate(4_194_304) != nil)
            #expect(unsafe LibraryCall().allocate(4_194_305) == nil)
        }

        @Test func `where a library makes no decoder any more, its messages wait`() throws {
            let sample = LibraryDecoderTests.sample(library, "later", #"{"once":1}"#)
            #expect(try sample.decoded().pause == .seconds(300))
        }

        @Test func `every decoder that a library made is given back to it`() throws {
            #expect(LibraryDecoderTests.problems(library, #"{"mute":1}"#).count == 1)
            for _ in 0..<2 { #expect(try sample("living").decoded().ignored == "1") }
        }
    }
}
