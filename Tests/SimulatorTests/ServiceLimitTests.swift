import Core
import Testing

@testable import Simulator

@Suite("The simulator's limits")
struct ServiceLimitTests {
    @Test("A device has a limit of notifications in a period, over all connections")
    func deviceLimit() throws {
        let context = try Provider.context("set device-limit 2 per 10s")
        let first = try Provider(context)
        let second = try Provider(context)
        #expect(first.status(try first.send(token: "ABCD")) == 200)
        #expect(second.status(try second.send(token: "abcd")) == 200)
        #expect(first.reason(try first.send(token: "abcd")) == "429 {\"reason\":\"TooManyRequests\"}")
        #expect(first.status(try first.send(token: "02")) == 200)
        try first.advance(by: .milliseconds(9999))
        #expect(first.status(try first.send(token: "abcd")) == 429)
        try first.advance(by: .milliseconds(1))
        #expect(first.status(try first.send(token: "abcd")) == 200)
    }

    @Test("A notification that breaks a rule does not count for its device")
    func refusedNotification() throws {
        let provider = try Provider(script: "set device-limit 1 per 10s")
        #expect(provider.status(try provider.send(["apns-priority": "11"])) == 400)
        #expect(provider.status(try provider.send()) == 200)
        #expect(provider.status(try provider.send()) == 429)
    }

    @Test("Connections opened too fast are cut at once")
    func connectionLimit() throws {
        let context = try Provider.context("set connection-limit 2 per 1m")
        let first = Samples.start.instant + .seconds(59)
        _ = try [Provider(context, at: first), Provider(context, at: first)].map { #expect(!$0.isClosed) }
        let third = try Provider(context, at: first + .seconds(1))
        #expect(third.isClosed && !third.hasFarewell)
        #expect(context.ledger.statistics.refusedConnections == 1)
        #expect(context.ledger.statistics.openConnections == 2)
        #expect(!(try Provider(context, at: first + .seconds(60)).isClosed))
    }

    // MARK: Delayed registration

    @Test("A topic that is registered later is refused on connections that were bound before")
    func laterTopic() throws {
        let context = try Provider.context(
            "set topic com.example.MyApp\nset topic com.example.New after=10s\nset channel QUJD app=com.example.New")
        let new = ["apns-topic": "com.example.New"]
        let old = try Provider(context)
        let unbound = try Provider(context)
        #expect(old.status(try old.send()) == 200)
        #expect(old.reason(try old.send(new)) == "400 {\"reason\":\"TopicDisallowed\"}")
        try old.advance(by: .seconds(10))
        try unbound.advance(by: .seconds(10))
        #expect(old.status(try old.send(new)) == 400)
        let broadcast = try old.submit(
            Samples.broadcast([":path": "/4/broadcasts/apps/com.example.New", "apns-channel-id": "QUJD"]))
        try old.exchange()
        #expect(old.reason(broadcast) == "403 {\"reason\":\"TopicMismatch\"}")
        #expect(old.status(try old.send()) == 200)
        // A connection is bound by its first push, not by its opening.
        #expect(unbound.status(try unbound.send(new)) == 200)
        let young = try Provider(context, at: old.now)
        #expect(young.status(try young.send(new)) == 200)
    }

    @Test("If all topics are registered later, none is known before")
    func laterTopicAlone() throws {
        let context = try Provider.context("set topic com.example.MyApp after=10s")
        let early = try Provider(context)
        #expect(early.reason(try early.send()) == "400 {\"reason\":\"TopicDisallowed\"}")
        let later = try Provider(context, at: Samples.start.instant + .seconds(10))
        #expect(later.reason(try later.send()) == "200 ")
    }

    @Test("A key is unknown before it is issued and after it is revoked, on open connections too")
    func keyTimes() throws {
        let context = try Provider.context("set key \(Samples.keyID) team=\(Samples.teamID) after=10s until=20s")
        let provider = try Provider(context)
        #expect(provider.reason(try provider.send()) == "403 {\"reason\":\"InvalidProviderToken\"}")
        try provider.advance(by: .seconds(10))
        #expect(provider.status(try provider.send()) == 200)
        try provider.advance(by: .seconds(10))
        #expect(provider.reason(try provider.send()) == "403 {\"reason\":\"InvalidProviderToken\"}")
    }

    @Test("A connection may change to a key related to its own, and to no other")
    func relatedKey() throws {
        let provider = try Provider(
            script: """
                set key \(Samples.keyID) team=\(Samples.teamID) related=RELATED001
                set key RELATED001 team=\(Samples.teamID)
                set key UNRELATED1 team=\(Samples.teamID)
                """)
        func send(_ key: String, after: Duration) throws -> String? {
            let issued = Samples.moment(after).wall.seconds
            return provider.reason(try provider.send(["authorization": Samples.bearer(key: key, issuedAt: issued)]))
        }
        #expect(try send(Samples.keyID, after: .zero) == "200 ")
        try provider.advance(by: .seconds(1200))
        #expect(try send("UNRELATED1", after: .seconds(1200)) == "403 {\"reason\":\"UnrelatedKeyIdInToken\"}")
        #expect(try send("RELATED001", after: .seconds(1200)) == "200 ")
        try provider.advance(by: .seconds(1200))
        #expect(try send(Samples.keyID, after: .seconds(2400)) == "200 ")
    }
}
