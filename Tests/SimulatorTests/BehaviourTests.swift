import Core
import HTTP2
import TestSupport
import Testing

@testable import Simulator

@Suite("The simulator's behaviour on demand")
struct BehaviourTests {
    @Test(
        "Built-in device tokens have their outcomes",
        arguments: [
            ("dead", "410 {\"reason\":\"Unregistered\",\"timestamp\":1795132800000}"),
            ("DEAD", "410 {\"reason\":\"Unregistered\",\"timestamp\":1795132800000}"),
            ("fade", "410 {\"reason\":\"ExpiredToken\",\"timestamp\":1795132800000}"),
            ("bad0", "400 {\"reason\":\"BadDeviceToken\"}"), ("0dd0", "400 {\"reason\":\"DeviceTokenNotForTopic\"}"),
            ("f100d0", "429 {\"reason\":\"TooManyRequests\"}"), ("fa11", "500 {\"reason\":\"InternalServerError\"}"),
            ("0ff0", "503 {\"reason\":\"ServiceUnavailable\"}"), ("c0ffee", "200 "),
        ])
    func builtInResponses(prefix: String, response: String) throws {
        let provider = try Provider()
        #expect(provider.reason(try provider.send(token: prefix + Samples.token)) == response)
    }

    @Test("Built-in device tokens can delay, be silent, reset, cut and close")
    func builtInTrouble() throws {
        let provider = try Provider()
        let late = try provider.send(token: "1a7e")
        #expect(provider.responses[late] == nil)
        try provider.advance(by: .seconds(1))
        #expect(provider.responses[late]?.status == 200)
        let deaf = try provider.send(token: "deaf")
        #expect(provider.reset(try provider.send(token: "dec1")) == .refusedStream)
        #expect(provider.reset(try provider.send(token: "fa7a10")) == .internalError)
        try provider.advance(by: .seconds(1800))
        #expect(provider.responses[deaf] == nil && provider.resets[deaf] == nil)
        try provider.submit(Samples.headers(token: "cab1e0"))
        try provider.send(token: "cab1e0")
        let count = provider.context.ledger.statistics
        #expect(provider.isClosed && !provider.hasFarewell && [count.cuts, count.silences, count.resets] == [1, 1, 2])
        #expect(count.lost == 2)

        let closing = try Provider()
        let last = try closing.send(token: "c105e0")
        #expect(closing.responses[last]?.status == 200)
        #expect(closing.goaways.first?.last == 1 && closing.goaways.first?.text == "{\"reason\":\"Shutdown\"}")
        #expect(closing.isClosed && closing.hasFarewell && closing.context.ledger.statistics.goaways == 1)

        let ceding = try Provider()
        let ceded = try ceding.send(token: "cede")
        #expect(ceding.resets[ceded] == .refusedStream && ceding.goaways.first?.last == 0)
        #expect(ceding.context.ledger.statistics.ceded == 1)
    }

    @Test("Built-in device tokens can be turned off, and a script's line overrides them")
    func overruled() throws {
        let off = try Provider(script: "set built-in-tokens off")
        #expect(off.reason(try off.send(token: "dead")) == "200 ")
        let script = try Provider(script: "token dead*: 200")
        #expect(script.reason(try script.send(token: "dead")) == "200 ")
    }

    @Test("Lines apply together, and the first response wins")
    func lines() throws {
        let provider = try Provider(
            script: """
                token 01*: delay 200ms
                token 0102*: 410 Unregistered timestamp=5
                token 01*: 503 ServiceUnavailable
                """)
        let handle = try provider.send(token: "0102")
        #expect(provider.responses[handle] == nil)
        #expect(provider.engine.nextDeadline == Samples.start.instant + .milliseconds(200))
        try provider.advance(by: .milliseconds(200))
        #expect(provider.reason(handle) == "410 {\"reason\":\"Unregistered\",\"timestamp\":5}")
        let other = try provider.send(token: "0103")
        try provider.advance(by: .milliseconds(200))
        #expect(provider.reason(other) == "503 {\"reason\":\"ServiceUnavailable\"}")
        #expect(provider.reason(try provider.send()) == "200 ")
    }

    @Test("Topics and push types select lines too")
    func otherConditions() throws {
        let provider = try Provider(
            script: """
                topic com.example.Other*: 400 TopicDisallowed
                type voip: 500 InternalServerError
                """)
        #expect(
            provider.reason(try provider.send(["apns-topic": "com.example.Other"]))
                == "400 {\"reason\":\"TopicDisallowed\"}")
        let voip = try provider.send(["apns-push-type": "voip", "apns-topic": "com.example.MyApp.voip"])
        #expect(provider.reason(voip) == "500 {\"reason\":\"InternalServerError\"}")
    }

    @Test("Requests are counted for the server or the connection")
    func counting() throws {
        let context = try Provider.context(
            """
            every 3 requests: 503 ServiceUnavailable
            first 1 request on connection: 429 TooManyRequests
            """)
        func statuses(_ count: Int) throws -> [UInt16?] {
            let provider = try Provider(context)
            return try (0..<count).map { _ in provider.status(try provider.send()) }
        }
        #expect(try statuses(4) == [429, 200, 503, 200])
        #expect(try statuses(3) == [429, 503, 200])
    }

    @Test("A condition counts only the requests that pass the previous conditions")
    func countingWithConditions() throws {
        let provider = try Provider(script: "token 01*, first 2 requests: 503 ServiceUnavailable")
        let statuses = try ["01", "02", "01", "01", "02"].map { provider.status(try provider.send(token: $0)) }
        #expect(statuses == [503, 200, 503, 200, 200])
    }

    @Test("An attempt is counted by apns-id, over all connections")
    func attempts() throws {
        let context = try Provider.context("attempt 1: 503 Shutdown\nattempt 2: 500 InternalServerError")
        let statuses = try (0..<3).map { _ in
            let provider = try Provider(context)
            return provider.status(try provider.send())
        }
        #expect(statuses == [503, 500, 200])
    }

    @Test("A random choice follows its seed")
    func chance() throws {
        func statuses(_ seed: UInt64) throws -> [UInt16?] {
            let provider = try Provider(script: "chance 30%: 503 ServiceUnavailable") { $0.seed = seed }
            return try (0..<200).map { _ in provider.status(try provider.send()) }
        }
        let first = try statuses(1)
        #expect(try statuses(1) == first)
        #expect(try statuses(2) != first)
        #expect((30...90).contains(first.count { $0 == 503 }))
    }

    @Test("A delayed response is lost with its connection")
    func lostResponse() throws {
        let provider = try Provider(script: "token 01*: delay 1s")
        let ledger = RecordedLedger(observing: provider.context)
        for _ in 0..<4 { try provider.send(token: "01") }
        provider.disconnect()
        #expect(provider.context.ledger.statistics.lost == 4 && ledger.records.allSatisfy { $0.ending == .lost })
        #expect(ledger.records.map(\.stream) == [1, 3, 5, 7])
        #expect(provider.engine.nextDeadline == nil)
    }

    @Test("A delayed response is lost with its stream")
    func cancelledStream() throws {
        let provider = try Provider(script: "token 01*: delay 1s")
        try provider.send(token: "01")
        provider.http.cancel(stream: 1)
        try provider.exchange()
        #expect(provider.context.ledger.statistics.lost == 1)
        try provider.advance(by: .seconds(2))
        #expect(provider.context.ledger.statistics.responses.isEmpty)
    }

    @Test("Later requests are answered before a delayed one")
    func outOfOrder() throws {
        let provider = try Provider(script: "token 01*: delay 10ms..20ms")
        try provider.send()
        let late = try provider.send(token: "01")
        let early = try provider.send()
        #expect(provider.responses[early] != nil && provider.responses[late] == nil)
        try provider.advance(by: .milliseconds(20))
        #expect(provider.responses[late] != nil)
    }

    // MARK: GOAWAY

    @Test("GOAWAY after a number of requests answers them, refuses later ones, then closes")
    func goawayAfterRequests() throws {
        let provider = try Provider(script: "after 3 requests: goaway Shutdown last=this")
        try provider.send()
        let handles = try (0..<4).map { _ in try provider.submit() }
        try provider.exchange()
        #expect(handles.map { provider.responses[$0]?.status } == [200, 200, nil, nil])
        #expect(provider.goaways.map(\.last) == [5])
        #expect(handles[2...].map { provider.resets[$0] } == [.refusedStream, .refusedStream])
        #expect(provider.isClosed && provider.hasFarewell)
        #expect(provider.context.ledger.statistics.ceded == 2)
    }

    @Test("GOAWAY waits for delayed responses before it closes")
    func goawayWithDelay() throws {
        let provider = try Provider(script: "token 01*: delay 1s\ntoken 02*: goaway IdleTimeout")
        try provider.send()
        let late = try provider.send(token: "01")
        try provider.send(token: "02")
        #expect(provider.goaways.count == 1 && !provider.isClosed)
        try provider.advance(by: .seconds(1))
        #expect(provider.responses[late]?.status == 200)
        #expect(provider.isClosed)
    }

    @Test("GOAWAY can close at once, or never")
    func goawayClosing() throws {
        let now = try Provider(script: "token 01*: delay 1s\ntoken 02*: goaway close=now")
        try now.send()
        let late = try now.send(token: "01")
        try now.send(token: "02")
        #expect(now.isClosed && now.responses[late] == nil && now.context.ledger.statistics.lost == 1)

        let never = try Provider(script: "token 02*: goaway close=never")
        try never.send(token: "02")
        try never.advance(by: .seconds(3600))
        #expect(never.goaways.count == 1 && !never.isClosed)
    }

    @Test("GOAWAY can exclude its request, or all of them")
    func goawayLast() throws {
        let before = try Provider(script: "token 02*: goaway Shutdown last=before")
        let first = try before.send()
        let second = try before.send(token: "02")
        #expect(before.responses[first]?.status == 200 && before.resets[second] == .refusedStream)
        #expect(before.goaways.map(\.last) == [1])

        let none = try Provider(script: "token 01*: delay 1s\ntoken 02*: goaway last=none")
        try none.send()
        let late = try none.send(token: "01")
        try none.send(token: "02")
        #expect(none.goaways.map(\.last) == [0] && none.resets[late] == .refusedStream)
        #expect(none.context.ledger.statistics.ceded == 2)
    }

    @Test("GOAWAY in two steps lets requests through until the second")
    func goawayInTwoSteps() throws {
        let provider = try Provider(script: "token 01*: delay 1s\nafter 3 requests: goaway Shutdown announced=100ms")
        try provider.send()
        // An outstanding response keeps the client listening for the second GOAWAY.
        let late = try provider.send(token: "01")
        let handles = try [provider.submit(), provider.submit()]
        try provider.exchange()
        #expect(handles.allSatisfy { provider.responses[$0]?.status == 200 })
        #expect(provider.goaways.map(\.last) == [.max])
        #expect(!provider.isClosed)
        try provider.advance(by: .milliseconds(99))
        #expect(provider.goaways.count == 1)
        try provider.advance(by: .milliseconds(1))
        #expect(provider.goaways.map(\.last) == [.max, 7])
        #expect(!provider.isClosed)
        try provider.advance(by: .seconds(1))
        #expect(provider.responses[late]?.status == 200)
        #expect(provider.isClosed && provider.hasFarewell)

        let early = try Provider(script: "token 02*: goaway Shutdown last=this announced=100ms")
        try early.send()
        let last = try early.submit(Samples.headers(token: "02"))
        let ceded = try early.submit()
        try early.exchange()
        #expect(early.responses[last]?.status == 200 && early.responses[ceded] == nil)
        try early.advance(by: .milliseconds(100))
        #expect(early.goaways.map(\.last) == [.max, 3])
    }

    @Test("A connection ends by its age or idle time")
    func ageAndIdleness() throws {
        let aged = try Provider(script: "after 10s: goaway Shutdown")
        try aged.advance(by: .milliseconds(9999))
        #expect(!aged.isClosed)
        try aged.advance(by: .milliseconds(1))
        #expect(aged.isClosed && aged.goaways.count == 1)

        let idle = try Provider(script: "idle 10s: goaway IdleTimeout")
        try idle.advance(by: .seconds(9))
        try idle.send()
        try idle.advance(by: .seconds(9))
        #expect(!idle.isClosed)
        try idle.advance(by: .seconds(1))
        #expect(idle.isClosed && idle.goaways.map(\.text) == ["{\"reason\":\"IdleTimeout\"}"])

        let again = try Provider(script: "idle 10s: ping 100")
        for round in 1...2 {
            // The first round shows that the opening counts like a request.
            if round == 2 { #expect(again.status(try again.send()) == 200) }
            try again.advance(by: .seconds(10))
            #expect(again.context.ledger.statistics.pongs == 100 * round)
        }
    }

    @Test("A cut follows the response of its line, without GOAWAY")
    func cut() throws {
        let provider = try Provider(script: "token 01*: 200, cut")
        let handle = try provider.send(token: "01")
        #expect(provider.responses[handle]?.status == 200)
        #expect(provider.isClosed && !provider.hasFarewell)
        #expect(provider.context.ledger.statistics.cuts == 1)
    }

    @Test("SETTINGS change on connect, on authentication and on a request")
    func settings() throws {
        let provider = try Provider(
            script: """
                connect: settings streams=7
                authenticated: settings streams=9
                token 01*: settings streams=0
                """)
        #expect(provider.limits.last == 7)
        try provider.send()
        #expect(provider.limits.last == 9)
        try provider.send(token: "01")
        #expect(provider.limits.last == 0)
    }

    @Test("All connections can be disturbed at once")
    func disturbance() throws {
        let context = try Provider.context()
        let providers = try (0..<3).map { _ in try Provider(context) }
        let connections = SimulatedConnections()
        for provider in providers { connections.add(provider.engine) }
        #expect(context.ledger.statistics.openConnections == 3)
        connections.applyFaults([.goaway(ScriptGoaway(reason: "Shutdown"))], at: Samples.start.instant)
        for provider in providers {
            try provider.exchange()
            #expect(provider.isClosed && provider.goaways.count == 1)
        }
        #expect(context.ledger.statistics.openConnections == 0)
    }
}
