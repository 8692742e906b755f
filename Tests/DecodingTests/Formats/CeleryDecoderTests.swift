import AMQP
import Core
import Pipeline
import Runtime
import SimulatedWorld
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Decoding

@Suite("The decoder celery")
struct CeleryDecoderTests {
    private static let decoders = """
          - name: tasks
            celery:
              tasks:
                - { name: app.tasks.push, pointer: /kwargs/push }
                - { name: app.tasks.raw, pointer: /args/1, decoder: apns-json }
        """

    private static let push = """
        {"device-token":"\(DecoderSample.token)","apns-topic":"com.example.app","payload":{"aps":{"badge":1.50}}}
        """

    private static func sample(
        task: String = "app.tasks.push", body: String = #"[[], {"push": \#(push)}, {"callbacks": null}]"#,
        _ headers: [(String, OneOffDelivery.HeaderValue)] = [], properties: [(String, String)] = []
    ) -> DecoderSample {
        DecoderSample(
            body, decoder: "tasks", decoders: decoders,
            headers: [
                ("lang", .text("py")), ("task", .text(task)), ("id", .text("3149beef-be66-4b0e-ba47-2fc46e4edac3")),
                ("retries", .integer(0)),
            ] + headers,
            properties: [("content-type", "application/json"), ("content-encoding", "utf-8")] + properties)
    }

    @Test("A request in the keyword arguments is read in place, under the task's id")
    func keyword() throws {
        let request = try Self.sample().request()
        #expect(request.notifications.map(\.hex) == [DecoderSample.token])
        #expect(string(request.notifications[0].payload) == #"{"aps":{"badge":1.50}}"#)
        #expect(string(request.key) == "3149beef-be66-4b0e-ba47-2fc46e4edac3")
    }

    @Test("A request may be a positional argument, also as a JSON string, and in protocol 1")
    func others() throws {
        let escaped = Self.push.replacing("\"", with: "\\\"")
        let text = try Self.sample(task: "app.tasks.raw", body: #"[[1, "\#(escaped)"], {}, {}]"#).notification()
        #expect(text.hex == DecoderSample.token)
        let old = DecoderSample(
            #"{"task":"app.tasks.push","id":"i","args":[],"kwargs":{"push":\#(Self.push)},"#
                + #""expires":"2027-01-01T00:00:00.5"}"#,
            decoder: "tasks", decoders: Self.decoders)
        #expect(try old.notification().expiration == 1_798_761_600)
        #expect(try string(old.request().key) == "i")
    }

    @Test("expires limits the notification's expiration")
    func expires() throws {
        let found = try Self.sample([("expires", .text("2026-09-21T16:13:30+02:00"))]).notification()
        #expect(found.expiration == 1_790_000_010)
        let gone = try Self.sample([("expires", .text("1960-01-01T00:00:00"))]).notification()
        #expect(gone.expiration == 1)
    }

    @Test(
        "A notification that is now or never stays so until its task expires, and then expires with it",
        arguments: [
            push.replacing("\"payload\"", with: "\"apns-expiration\":0,\"payload\""),
            #"{"apns-channel-id":"YQ==","payload":{"aps":{"event":"end","timestamp":1}}}"#,
        ])
    func nowOrNever(request: String) throws {
        let times: [(String, Int64)] = [("2026-09-21T14:13:20Z", 0), ("2026-09-21T14:13:19Z", 1_789_999_999)]
        for (time, expiration) in times {
            let sample = Self.sample(body: "[[], {\"push\": \(request)}, {}]", [("expires", .text(time))])
            #expect(try sample.notification().expiration == expiration)
        }
    }

    @Test("A task that is not due yet is deferred")
    func eta() throws {
        let pause = try Self.sample([("eta", .text("2026-09-21T14:14:20.250000"))]).decoded().pause
        #expect(pause == .milliseconds(60_250))
        _ = try Self.sample([("eta", .text("2026-09-21T14:13:20Z"))]).request()
    }

    @Test("Another task is refused with its name, and with the nearest configured one")
    func otherTasks() throws {
        #expect(
            try Self.sample(task: "app.tasks.mail").complaint() == "task: \"app.tasks.mail\" is not a configured task; "
                + "did you mean \"app.tasks.raw\"?")
        #expect(try Self.sample(task: "other").complaint() == "task: \"other\" is not a configured task")
        let twice = Self.decoders + "\n        - { name: app.tasks.raw, pointer: /args }"
        #expect(
            DecoderSample.problems(twice) == [
                "f:9:19: decoders[0].celery.tasks[2].name: \"app.tasks.raw\" is already listed"
            ])
    }

    @Test("Times may be numbers, and without an offset they are UTC unless the message says otherwise")
    func times() throws {
        #expect(try Self.sample([("expires", .integer(1_790_000_010))]).notification().expiration == 1_790_000_010)
        #expect(try Self.sample([("expires", .integer(60))]).complaint().hasPrefix("expires: expected a date"))
        let times: [Int64] = [999_999_999, 1_000_000_000, 99_999_999_999, 100_000_000_000]
        let isTaken = try times.map { try Self.sample([("expires", .integer($0))]).complaint().isEmpty }
        #expect(isTaken == [false, true, true, false])
        let local = DecoderSample(
            #"{"task":"app.tasks.push","utc":false,"eta":"2026-09-21T14:14:20","kwargs":{"push":\#(Self.push)}}"#,
            decoder: "tasks", decoders: Self.decoders)
        #expect(try local.complaint().hasPrefix("eta: it has no offset, and utc is false"))
    }

    @Test("The headers of Celery 5 are read with all that it sets by default")
    func realHeaders() throws {
        // Recorded from push.apply_async(kwargs=…, expires=3600) with Celery 5.7.0 and its default settings.
        let request = try Self.sample(
            [
                ("expires", .text("2026-09-21T15:13:20.960104+00:00")), ("ignore_result", .boolean(false)),
                ("root_id", .text("3149beef-be66-4b0e-ba47-2fc46e4edac3")),
            ],
            properties: [
                ("reply-to", "bea97849-19a8-3e53-94e7-eb0dcb6b0a5b"), ("expiration", "3600000"),
                ("correlation-id", "3149beef-be66-4b0e-ba47-2fc46e4edac3"),
            ]
        ).request()
        #expect(request.notifications[0].expiration == 1_790_003_600 && request.hint == nil)
        var automatic = Self.sample([("expires", .text("2026-09-21T15:13:20Z"))])
        automatic.decoders = Self.decoders.replacing("/kwargs/push }", with: "/kwargs/push, decoder: auto }")
        #expect(try automatic.request().hint == nil)
    }

    @Test("reply_to is ignored, which Celery sets in every task, unless the configuration uses it")
    func replyTo() throws {
        let decoder = try #require(try DecoderSample.set(Self.decoders)["tasks"])
        #expect(!decoder.usesReplyTo)
        let using = Self.decoders.replacing("celery:\n", with: "celery:\n      results: reply_to\n")
        #expect(try #require(try DecoderSample.set(using)["tasks"]).usesReplyTo)
        let wrapped = Self.decoders + "\n  - name: events\n    cloudevents: { decoder: tasks }"
        #expect(try #require(try DecoderSample.set(wrapped)["events"]).usesReplyTo == false)
        let world = try Self.world()
        try world.request(#"[[], {"push": \#(Self.push)}, {}]"#, id: "m1", replyTo: "bea97849-19a8-3e53") {
            $0.headers = ["task": .string("app.tasks.push"), "id": .string("t1"), "eta": .void, "expires": .void]
        }
        #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A refused task has the apns-id that it will have after a correction")
    func refusedID() throws {
        let world = try Self.world()
        for arguments in ["{}", #"{"push": {}}"#, #"{"push": \#(Self.push)}"#] {
            try world.request("[[], \(arguments), {}]") {
                $0.headers = ["task": .string("app.tasks.push"), "id": .string("t1")]
            }
            #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        }
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["invalid", "invalid", "accepted"])
        #expect(Set(results.map(\.messageID)).count == 1)
    }

    @Test("Values of Python are unwrapped in fields, and refused in a payload with their place")
    func pythonValues() throws {
        func sample(_ more: String, payload: String = #"{"aps":{"badge":1}}"#) -> DecoderSample {
            let token = #"{"bytes":"\#(DecoderSample.token)","__bytes__":true}"#
            let request = #"{"device-token":\#(token),\#(more)"payload":\#(payload)}"#
            return Self.sample(body: #"[[], {"push": \#(request)}, {}]"#)
        }
        let list = #"{"device-tokens":[{"bytes":"00","__bytes__":true}],"payload":{"aps":{"badge":1}}}"#
        #expect(try Self.sample(body: #"[[], {"push": \#(list)}, {}]"#).notification().hex == "00")
        // As kombu 5.2 and 5.3 write it.
        let id = "123e4567e89b12d3a456426655440000"
        for value in [#""\#(id)""#, #"{"hex":"\#(id)"}"#] {
            let found = try sample(#""apns-id":{"__type__":"uuid","__value__":\#(value)},"#).notification()
            #expect(found.id?.description == "123e4567-e89b-12d3-a456-426655440000")
            #expect(string(found.payload) == #"{"aps":{"badge":1}}"#)
        }
        let time = #""not-before":{"__type__":"datetime","__value__":"2026-09-21T14:13:30"},"#
        #expect(try sample(time).request().notBefore == 1_790_000_010)
        let inside = #"{"aps":{"badge":1},"a t":[{"bytes":"","__base64__":1},{"__type__":"","__bytes__":1}]}"#
        let failure = try #require(try sample(#""ttl":1,"apns-topic":"a","#, payload: inside).decoded().failure)
        #expect(failure.detail.hasPrefix("payload[…][0]: kombu wrote a value of") && failure.known?.target != nil)
        #expect(failure.detail.contains("; ttl: not a field") && string(failure.known?.topic) == "a")
    }

    /// A decoder whose notifications have different payloads, as those of a library may.
    private struct Pair: Core.Decoder {
        func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
            let payloads = [#"{"aps":{"badge":1}}"#, #"{"aps":{"badge":1},"id":{"__type__":"uuid","__value__":"1"}}"#]
            return .request(
                Request(
                    payloads.map {
                        let content = Core.Notification.Content(pushType: .alert, payload: ArraySlice($0.utf8))
                        return Core.Notification(target: .channel([]), content)
                    }))
        }
    }

    @Test("Each payload of a task is searched for values of Python")
    func pythonValueInSecond() throws {
        var options = CeleryDecoder.Options()
        options.tasks = [try CeleryDecoder.Task("app.tasks.push", at: "/kwargs/push", decoder: "pair")]
        let decoded = CeleryDecoder(options, [Pair()]).decode(Self.sample().delivery, at: DecoderSample.now)
        #expect(decoded.failure?.detail == "payload.id: \(KombuValue.complaint)")
    }

    @Test("Pickle, compression and bodies that are not tasks are refused")
    func refusals() throws {
        let missing = "missing in the task's arguments"
        let time = "expected a date and time in ISO 8601, or seconds since 1970"
        for (sample, complaint) in [
            (
                Self.sample(properties: [("content-type", "application/x-python-serialize")]),
                "content-type: \"application/x-python-serialize\" is not application/json; set task_serializer to json"
            ),
            (
                Self.sample([("compression", .text("application/x-gzip"))]),
                "compression: \"application/x-gzip\" is not supported; leave out task_compression"
            ),
            (Self.sample([("eta", .text("soon"))]), "eta: \(time)"),
            (
                Self.sample(body: #"[[],{"push":7},{}]"#, [("eta", .integer(9_000_000_000)), ("expires", .text("x"))]),
                "expires: \(time); body: expected a JSON object, found a number"
            ), (Self.sample(body: "{}"), "body: expected [args, kwargs, embed], found an object"),
            (Self.sample(body: "[[],{}]"), "body: expected [args, kwargs, embed], found 2 elements"),
            (Self.sample(body: "[[],{},{}]"), "/kwargs/push: \(missing)"),
            (Self.sample(body: "[[{}],{},{}]"), "/kwargs/push: \(missing); it has 1 in /args, such as /args/0"),
            (
                Self.sample(task: "app.tasks.raw", body: #"[[],{"push":{}},{}]"#),
                "/args/1: \(missing); it has arguments in /kwargs, such as /kwargs/push"
            ),
            (
                DecoderSample("{}", decoder: "tasks", decoders: Self.decoders),
                "task: missing in the headers and in the body"
            ),
        ] { #expect(try sample.complaint() == complaint) }
    }

    // MARK: Waiting

    private static func world() throws -> World {
        let world = try World {
            do {
                $0.decoders = try DecoderSample.configuration(decoders).decoders
                $0.queues[0].decoder = "tasks"
            } catch {
                preconditionFailure("\(error)")
            }
        }
        try world.start()
        return world
    }

    private static func put(_ world: World, eta: WallTime) throws {
        try world.request(#"[[], {"push": \#(push)}, {}]"#, id: "m1") {
            $0.headers = ["task": .string("app.tasks.push"), "id": .string("t1"), "eta": .string(eta.rfc3339)]
        }
    }

    @Test("A task waits in retry queues, the longest that fits first, and is sent on time as a first attempt")
    func waits() throws {
        let world = try Self.world()
        let due = WallTime(milliseconds: World.start.wall.milliseconds + 1_031_000)
        world.countParked()
        try Self.put(world, eta: due)
        #expect(world.broker.messages(in: "push.requests.retry.900s").count == 1)
        #expect(world.broker.unsettledCount == 0)
        #expect(world.pass(atMost: .seconds(1030)) { world.sent == 1 } == false)
        #expect(world.pass(atMost: .seconds(2)) { world.sent == 1 })
        #expect(world.pass(atMost: .seconds(2)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted"])
        #expect(results[0].body.contains("\"attempts\":1,"))
        // 900, 120 and 5 seconds in retry queues, the rest in the worker.
        #expect(world.parkedCopies == 4)
    }
}
