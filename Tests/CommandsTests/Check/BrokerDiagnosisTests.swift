import SimulatedWorld
import Testing

@testable import AMQP
@testable import Commands
@testable import Configuration

@Suite("BrokerDiagnosis")
struct BrokerDiagnosisTests {
    private let configuration: Configuration
    private let diagnosis: BrokerDiagnosis

    init() throws {
        configuration = try World.configuration()
        diagnosis = BrokerDiagnosis(configuration)
    }

    private func step(_ name: String) throws -> TopologyPlan.Step {
        try #require(TopologyPlan(configuration).steps.first { $0.subject == "queue \(name)" })
    }

    /// The finding about an existing queue.
    ///
    /// - Parameter difference: the argument and the current value that the broker names; `nil` if it accepts the
    ///   declaration.
    private func finding(
        _ name: String, _ difference: (argument: String, current: String)? = nil
    ) throws -> ConnectionFinding {
        let response = difference.map { argument, current in
            let text =
                "inequivalent arg '\(argument)' for queue 'q' in vhost '/': received 'this' but current is \(current)"
            return ControlResponse.refused(.closed(replyCode: 406, text: text, name: "PRECONDITION_FAILED"))
        }
        return diagnosis.comparison(of: try step(name), response ?? .declared(queue: name, messages: 1, consumers: 2))
    }

    @Test(
        "A version implies its features",
        arguments: [
            ("RabbitMQ", "3.10.8", ConnectionFinding.Severity.ok), ("RabbitMQ", "4.2.0-rc.1", .ok),
            ("RabbitMQ", "3.9.29", .warning), ("RabbitMQ", "2.8", .warning), ("RabbitMQ", "new", .note),
            ("LavinMQ", "2.0.0", .note), ("", "", .note),
        ])
    func version(product: String, version: String, severity: ConnectionFinding.Severity) {
        let finding = diagnosis.version(ServerProperties(product: product, version: version))
        #expect(finding.severity == severity && finding.text.hasPrefix("\(product) \(version)"))
    }

    @Test("A queue that exists as planned is reported with its messages and its delivery limit")
    func asPlanned() throws {
        let text = "as planned; 1 message, 2 consumers; delivery limit 10000"
        #expect(try finding("push.requests") == ConnectionFinding(.ok, "queue push.requests", text))
    }

    @Test("A refused declaration is reported in the broker's own words, with one line of advice")
    func words() throws {
        let found = try finding("push.requests", ("x-overflow", "none"))
        #expect(found.severity == .warning && found.subject == "queue push.requests")
        #expect(
            found.text == "the broker says 406 inequivalent arg 'x-overflow' for queue 'q' in vhost '/': "
                + "received 'this' but current is none")
        #expect(found.hint?.hasPrefix("RabbitMQ does not change what exists") == true)
    }

    @Test("A text without a difference, or cut off, is reported all the same")
    func cutOff() throws {
        for text in [
            "PRECONDITION_FAILED - no", "inequivalent arg 'x-message-ttl", "inequivalent arg 'x-overflow' for",
        ] {
            let error = AMQPError.closed(replyCode: 406, text: text, name: "PRECONDITION_FAILED")
            let found = diagnosis.comparison(of: try step("push.requests.retry.5s"), .refused(error))
            #expect(found.severity == .warning && found.text.hasSuffix(text) && found.hint != nil)
        }
    }

    @Test("Without the configure permission a queue cannot be compared, and a locked one is unreachable")
    func notCompared() throws {
        for (code, name, severity) in [
            (403, "ACCESS_REFUSED", ConnectionFinding.Severity.note), (405, "RESOURCE_LOCKED", .unreachable),
        ] {
            let error = AMQPError.closed(replyCode: UInt16(code), text: name, name: name)
            let found = diagnosis.comparison(of: try step("push.dead"), .refused(error))
            #expect(found.severity == severity)
        }
    }

    @Test("A refused question about a queue is reported as it is")
    func absence() throws {
        let refused = diagnosis.absence(
            of: try step("push.dead"), .closed(replyCode: 403, text: "no access", name: "ACCESS_REFUSED"))
        #expect(refused.severity == .wrong && refused.text.contains("403 no access"))
    }

    @Test(
        "A difference is a warning that says how it may cost requests, or an error if requests cannot flow as planned",
        arguments: [
            ("push.requests", "x-delivery-limit", "none", .warning, "RabbitMQ 4 drops a request after 20 returns"),
            ("push.requests", "x-delivery-limit", "'-1'", .warning, "RabbitMQ 4 drops a request after 20 returns"),
            ("push.requests", "x-dead-letter-exchange", "none", .warning, "a request that the broker drops is lost"),
            // A stream is wrong only as a request queue.
            ("push.requests", "x-queue-type", "'stream'", .wrong, nil),
            ("push.requests", "x-queue-type", "none", .warning, nil),
            ("push.dead", "x-queue-type", "'stream'", .warning, nil),
            // A retry queue must return its messages.
            ("push.requests.retry.5s", "x-message-ttl", "'6000'", .wrong, nil),
            ("push.requests.retry.5s", "x-dead-letter-routing-key", "'other'", .wrong, nil),
            ("push.requests.retry.5s", "x-dead-letter-exchange", "none", .wrong, nil),
            ("push.requests.retry.5s", "x-max-length", "the value '10' of type 'signedint'", .warning, nil),
        ] as [(String, String, String, ConnectionFinding.Severity, String?)])
    func difference(
        queue: String, argument: String, current: String, severity: ConnectionFinding.Severity, hint: String?
    ) throws {
        let found = try finding(queue, (argument, current))
        #expect(found.severity == severity)
        if let hint { #expect(found.hint?.contains(hint) == true, "\(found)") }
    }

    @Test(
        "A queue that may be read is permitted, unless the broker says that it is a stream",
        arguments: [
            ("queue 'q' in vhost '/': {unacceptable_type,longstr}", ConnectionFinding.Severity.ok),
            ("queue 'rabbit_stream_queue' in vhost '/': {unacceptable_type,longstr}", .ok),
            ("queue 'q' in vhost '/' of queue type rabbit_stream_queue", .wrong),
        ])
    func stream(text: String, severity: ConnectionFinding.Severity) throws {
        let error = AMQPError.closed(
            replyCode: 406, text: "PRECONDITION_FAILED - invalid arg 'x-priority' for \(text)",
            name: "PRECONDITION_FAILED")
        let found = try #require(diagnosis.reading("push.requests", error))
        #expect(found.severity == severity && found.subject == "consuming push.requests")
        #expect((found.hint != nil) == severity.isError)
    }
}
