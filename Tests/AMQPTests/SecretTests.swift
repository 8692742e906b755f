import Core
import TestSupport
import Testing

@testable import AMQP

@Suite("Password updates")
struct SecretTests {
    @Test("The broker accepts a new password on the open connection, which continues", arguments: [1, 3, 11, Int.max])
    func taken(chunk: Int) throws {
        let broker = Broker()
        broker.declare("q")
        let pair = Pair(.publisher, broker: broker, chunk: chunk)
        broker.users["guest"] = "token 2"
        pair.engine.updateSecret("token 2", at: pair.now)
        // Its confirm and the reply arrive in one read.
        try pair.publish(bytes("first"), to: "q")
        pair.settle()
        broker.users["guest"] = "token 3"
        pair.engine.updateSecret("token 3", at: pair.now)
        pair.settle()
        try pair.publish(pattern(200_000), to: "q")
        pair.settle()
        #expect(pair.server.secrets == ["token 2", "token 3"])
        #expect(pair.takeConfirmations().map(\.1) == [.acked, .acked])
        #expect(broker.messages(in: "q").count == 2 && broker.violations.isEmpty)
        // Both replies were counted: one more is unexpected.
        pair.server.send(raw: [1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 71, 0xCE])
        pair.settle()
        #expect(try #require(pair.takeError()).code == .unexpectedFrame)
    }

    @Test("A refused password ends the connection with an error that does not show it", arguments: [403, 530])
    func refused(code: UInt16) throws {
        let pair = Pair(.publisher)
        pair.engine.updateSecret("wrong", at: pair.now)
        if code == 403 { pair.server.closeConnection(code: code, text: "New secret was refused") }
        pair.settle()
        let error = try #require(pair.takeError())
        #expect(error.code == .secretRefused && error.replyCode == code && error.isTransient)
        #expect("\(error)".contains("New secret was refused"))
        #expect(!"\(error)".contains("wrong"))
    }

    @Test("A password too long for a frame is refused before it is sent")
    func tooLong() throws {
        let broker = Broker()
        broker.frameMax = 4096
        let pair = Pair(.publisher, broker: broker)
        // 13 bytes of reason with 1 of its length, 8 before the secret, 8 of the frame: none, then one byte too many.
        for rest in [30, 29] { pair.engine.updateSecret(String(repeating: "x", count: 4096 - rest), at: pair.now) }
        #expect(pair.engine.isOpen == false)
        pair.settle()
        #expect(try #require(pair.takeError()).code == .secretRefused)
        #expect(pair.server.secrets.map(\.utf8.count) == [4096 - 30])
    }

    @Test("A reply without a request, and one on another channel, end the connection")
    func unexpected() throws {
        for channel: UInt8 in 0...1 {
            let pair = Pair(.publisher)
            pair.server.send(raw: [1, 0, channel, 0, 0, 0, 4, 0, 10, 0, 71, 0xCE])
            pair.settle()
            #expect(try #require(pair.takeError()).code == .unexpectedFrame)
        }
    }

    @Test("A connection keeps its epoch; after a refusal it logs in with the same password")
    func reconnects() throws {
        let setup = ConnectionTests.Setup(.publisher)
        setup.start()
        setup.broker.users["guest"] = "good"
        setup.connection.setPassword("good", expires: true, at: setup.network.now)
        setup.settle()
        #expect(setup.connection.isOpen && setup.connection.epoch == 1)
        setup.connection.setPassword("bad", expires: true, at: setup.network.now)
        setup.advance(by: .seconds(30))
        let codes = setup.takeErrors().map(\.code)
        #expect(codes.first == .secretRefused && codes.count > 1)
        #expect(codes.dropFirst().allSatisfy { $0 == .accessRefused })
        // The right password is tried at once.
        setup.connection.setPassword("good", expires: true, at: setup.network.now)
        setup.settle()
        #expect(setup.connection.isOpen)
    }

    @Test("A token is sent once, also if a refused request reopens the channel")
    func refusedRequest() throws {
        let setup = ConnectionTests.Setup(.control)
        setup.start()
        setup.broker.users["guest"] = "token 2"
        setup.connection.setPassword("token 2", expires: true, at: setup.network.now)
        for _ in 0..<2 {
            setup.connection.request(.inspectQueue("missing"), at: setup.network.now)
            setup.settle()
        }
        #expect(setup.broker.engines.first?.secrets == ["token 2"])
    }

    @Test("A token that comes while a channel is opened again is sent after it")
    func reopening() throws {
        let setup = ConnectionTests.Setup(.control)
        setup.start()
        setup.network.latency = .milliseconds(100)
        setup.connection.request(.inspectQueue("missing"), at: setup.network.now)
        setup.advance(by: .milliseconds(250))
        setup.broker.users["guest"] = "token 2"
        setup.connection.setPassword("token 2", expires: true, at: setup.network.now)
        setup.advance(by: .seconds(1))
        #expect(setup.broker.engines.first?.secrets == ["token 2"])
    }

    @Test("A token replaced during the handshake is sent after it; another password is used at the next login")
    func handshake() throws {
        for expires in [true, false] {
            let setup = ConnectionTests.Setup(.publisher)
            setup.network.latency = .milliseconds(100)
            setup.start()
            // The broker has checked the login.
            setup.advance(by: .milliseconds(350))
            #expect(!setup.connection.isOpen)
            setup.broker.users["guest"] = "next"
            setup.connection.setPassword("stale", expires: true, at: setup.network.now)
            setup.connection.setPassword("next", expires: expires, at: setup.network.now)
            setup.advance(by: .seconds(2))
            let server = try #require(setup.broker.engines.first)
            #expect(server.secrets == (expires ? ["next"] : []))
            setup.broker.closeAll()
            setup.advance(by: .seconds(5))
            #expect(setup.connection.isOpen)
        }
    }
}
