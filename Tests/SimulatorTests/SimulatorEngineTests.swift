import Core
import HTTP2
import TLS
import TestSupport
import Testing

@testable import Simulator

@Suite("The simulator's end of a connection")
struct SimulatorEngineTests {
    @Test("A valid notification is accepted with its own apns-id and an empty body, and a closed connection is closed")
    func accepted() throws {
        let provider = try Provider()
        let handle = try provider.send()
        #expect(provider.reason(handle) == "200 ")
        #expect(provider.responses[handle]?.headers == [HTTP2Header("apns-id", Samples.id)])
        try provider.http.raw.ping()
        try provider.exchange()
        provider.tls.close()
        try provider.exchange()
        #expect(provider.isClosed && provider.hasFarewell && provider.context.ledger.statistics.pings == 1)
    }

    @Test("An apns-id is generated for a notification without one, or with a bad one")
    func madeID() throws {
        let provider = try Provider()
        for changes in [["apns-id": nil], ["apns-id": "nonsense"]] as [[String: String?]] {
            let handle = try provider.send(changes)
            let id = try #require(provider.responses[handle]?.headers.value(of: "apns-id"))
            #expect(NotificationID(id[...]) != nil)
        }
        #expect(provider.context.ledger.statistics.reasons == ["BadMessageId": 1])
    }

    @Test("The development environment adds apns-unique-id to an acceptance")
    func uniqueID() throws {
        let provider = try Provider { $0.environment = .development }
        let good = try provider.send()
        let bad = try provider.send(["apns-priority": "3"])
        #expect(provider.responses[good]?.headers.value(of: "apns-unique-id")?.count == 36)
        #expect(provider.responses[bad]?.headers.value(of: "apns-unique-id") == nil)
    }

    @Test("A refusal is JSON with Apple's reason")
    func refusal() throws {
        let provider = try Provider()
        let handle = try provider.send(["apns-priority": "3"])
        #expect(provider.reason(handle) == "400 {\"reason\":\"BadPriority\"}")
        #expect(provider.responses[handle]?.headers.value(of: "content-type") == Array("application/json".utf8))
        #expect(provider.responses[handle]?.headers.value(of: "apns-id") == Array(Samples.id.utf8))
    }

    @Test("Method and path are checked before the provider token, the headers after it")
    func order() throws {
        let provider = try Provider()
        let noToken: [String: String?] = ["authorization": nil, "apns-priority": "3"]
        #expect(provider.reason(try provider.send(noToken)) == "403 {\"reason\":\"MissingProviderToken\"}")
        let badPath = noToken.merging([":path": "/"]) { $1 }
        #expect(provider.reason(try provider.send(badPath)) == "404 {\"reason\":\"BadPath\"}")
        let badMethod = badPath.merging([":method": "GET"]) { $1 }
        #expect(provider.reason(try provider.send(badMethod)) == "405 {\"reason\":\"MethodNotAllowed\"}")
        let badChannelPath = badMethod.merging([":path": "/1/foo"]) { $1 }
        #expect(provider.reason(try provider.send(badChannelPath)) == "404 {\"reason\":\"BadPath\"}")
    }

    @Test("One stream is allowed until a valid provider token came, then a thousand")
    func streams() throws {
        let provider = try Provider()
        #expect(provider.limits == [1])
        try provider.send(["authorization": nil])
        #expect(provider.limits == [1])
        // The token is valid even if the notification is not.
        try provider.send(["apns-priority": "3"])
        #expect(provider.limits == [1, 1000])
    }

    @Test("A client that offers other protocols is refused, one that offers none uses HTTP/2")
    func protocols() throws {
        let context = try Provider.context()
        #expect(throws: TLSError.self) { try Provider(context, protocols: ["http/1.1"]) }
        #expect(context.ledger.statistics.failedConnections == 1)
        let silent = try Provider(context, protocols: [])
        #expect(silent.status(try silent.send()) == 200)
    }

    @Test("Everything works when bytes arrive one by one")
    func singleBytes() throws {
        let provider = try Provider()
        let handle = try provider.submit()
        try provider.exchange(step: 1)
        #expect(provider.responses[handle]?.status == 200)
    }

    @Test("A broadcast is answered with its request id and a unique id")
    func broadcast() throws {
        let provider = try Provider(script: "set channel \(Samples.channelID) app=com.example.MyApp")
        let own = "2288D36B-96CB-4F60-A3B0-6EBDB59A4CEC"
        let handle = try provider.submit(Samples.broadcast(["apns-request-id": own, "apns-id": Samples.id]))
        try provider.exchange()
        let response = try #require(provider.responses[handle])
        #expect(response.status == 200)
        #expect(response.headers.value(of: "apns-request-id") == Array(own.utf8))
        let lost = try provider.send([":path": "/1/apps/com.example.MyApp/x", "apns-request-id": own])
        #expect(provider.responses[lost]?.headers.value(of: "apns-request-id") == Array(own.utf8))
        #expect(response.headers.value(of: "apns-unique-id")?.count == 36)
        #expect(response.headers.value(of: "apns-id") == nil)
    }

    @Test("The ledger records every request, its end and its repetitions")
    func ledger() throws {
        let context = try Provider.context("token 01*: 503 ServiceUnavailable")
        let ledger = RecordedLedger(observing: context)
        #expect(Mirror(reflecting: ledger.statistics).children.allSatisfy { ($0.value as? Int ?? 0) == 0 })
        let provider = try Provider(context)
        try provider.send()
        try provider.send()
        try provider.send(token: "01" + Samples.token)
        let id = try #require(NotificationID(Samples.id))
        #expect(ledger.timesSeen(id) == 3)
        #expect(ledger.statistics.repeated == 2 && ledger.statistics.duplicates == 1)
        #expect(ledger.statistics.responses == [200: 2, 503: 1] && ledger.statistics.headerBytes > 0)
        #expect(ledger.records.map(\.apnsID) == [id, id, id])
        #expect(
            ledger.records.map(\.ending) == [
                .responded(200, reason: nil), .responded(200, reason: nil),
                .responded(503, reason: "ServiceUnavailable"),
            ])
        #expect(ledger.records[2].deviceToken.elementsEqual("01\(Samples.token)".utf8))
        #expect(ledger.records[0].payload == Samples.payload)
        #expect(ledger.records.map(\.stream) == [1, 3, 5])
    }

    @Test("The ledger's limits hold and its counts continue")
    func ledgerLimits() throws {
        let context = try SimulatorContext(
            identity: .pemText(certificates: Provider.server.certificatePEM, privateKey: Provider.server.privateKeyPEM),
            ledger: SimulatorLedger(maximumNotificationIDs: 1), now: Samples.start)
        let provider = try Provider(context)
        for _ in 0..<3 { try provider.send(["apns-id": nil]) }
        for _ in 0..<2 { try provider.send() }
        #expect(context.ledger.timesSeen(try #require(NotificationID(Samples.id))) == 0)
        #expect(context.ledger.statistics.accepted == 5 && context.ledger.statistics.repeated == 0)
    }

    @Test("A renewed provider token is counted")
    func tokenUpdates() throws {
        let provider = try Provider()
        try provider.send()
        try provider.advance(by: .seconds(1200))
        let later = Samples.bearer(issuedAt: Samples.moment(.seconds(1200)).wall.seconds)
        #expect(provider.reason(try provider.send(["authorization": later])) == "200 ")
        #expect(provider.context.ledger.statistics.tokenUpdates == 1)
        let (now, ahead) = (Samples.moment(.seconds(1200)).instant, Samples.moment(.seconds(4810)).wall)
        provider.context.synchronize(at: Moment(instant: now, wall: ahead))
        #expect(provider.context.moment(at: now).wall == ahead)
    }

    @Test("A client that breaks HTTP/2 gets GOAWAY and is disconnected")
    func brokenClient() throws {
        let engine = try Provider.context().makeEngine()
        var client = TLSSession(
            context: try TLSContext(role: .client, trust: .none, protocols: ["h2"]), serverName: "localhost")
        var bytes = ByteQueue()
        var plaintext = ByteQueue()
        func exchange() throws {
            client.drain(into: &bytes)
            bytes.withBytes { engine.receive($0, at: Samples.start.instant) }
            bytes.removeAll()
            engine.drain(into: &bytes)
            bytes.withBytes { client.receive($0) }
            bytes.removeAll()
        }
        engine.transportOpened(at: Samples.start.instant)
        while try !client.handshake() { try exchange() }
        try exchange()
        try client.write(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8).span)
        try exchange()
        _ = try client.read(into: &plaintext)
        #expect(engine.wantsDisconnect)
        engine.transportClosed(nil, at: Samples.start.instant)
        #expect(engine.context.ledger.statistics.failedConnections == 1)
        #expect(engine.context.ledger.statistics.openConnections == 0)
    }
}
