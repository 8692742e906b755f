import Core
import TestSupport
import Testing

@testable import Simulator

@Suite("The simulator's observer")
struct ObserverTests {
    private let observer = RecordedLedger()

    private func provider(_ script: String = "") throws -> Provider {
        let context = try Provider.context(script)
        context.observer = observer
        return try Provider(context)
    }

    @Test("It gets every request with payload, response and the time of the response")
    func accepted() throws {
        let provider = try provider("token *: delay 2s")
        try provider.send()
        try provider.advance(by: .seconds(2))
        #expect(observer.records.map(\.ending) == [.responded(200, reason: nil)])
        #expect(observer.records[0].payload == Samples.payload)
        #expect(observer.records[0].cause == nil)
        #expect(observer.times == [Samples.moment(.seconds(2)).wall])
    }

    @Test("An outcome that the script or a built-in device token chose names it")
    func chosen() throws {
        let provider = try provider("type voip: 200\ntoken 01*: 503 ServiceUnavailable\n")
        for token in ["01aa", "dead00", "deaf00", "00aa"] { try provider.send(token: token) }
        #expect(
            observer.records.map(\.cause) == [
                "rule 2 of the script", "the device token begins with dead", "the device token begins with deaf", nil,
            ])
    }

    @Test("It is notified of a connection's failure")
    func failure() throws {
        let context = try Provider.context()
        context.observer = observer
        let engine = try context.makeEngine()
        engine.transportOpened(at: Samples.start.instant)
        let plaintext = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        engine.receive(plaintext.span, at: Samples.start.instant)
        #expect(observer.failures.count == 1)
        #expect(observer.failures.first?.hasPrefix("connection 1: ") == true)
    }
}
