import SimulatedWorld
import Testing

@testable import AMQP
@testable import Operations
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
        try #require(
            TopologyPlan(configuration).steps.first {
                if case .queue(let queue, _) = $0 { queue.name == name } else { false }
            })
    }

    private func difference(_ argument: String, _ received: String, _ current: String) throws -> Inequivalence {
        let text =
            "inequivalent arg '\(argument)' for queue 'q' in vhost '/': received \(received) but current is \(current)"
        return try #require(Inequivalence(.closed(replyCode: 406, text: text, name: "PRECONDITION_FAILED")))
    }

    private func findings(
        _ name: String, _ differences: [Inequivalence], version: String = "4.1.0"
    ) throws -> [ConnectionFinding] {
        diagnosis.findings(
            about: try step(name),
            differences.isEmpty
                ? .asWanted(messages: 1, consumers: 2) : .different(differences, rest: nil, messages: 1, consumers: 2),
            ServerProperties(product: "RabbitMQ", version: version))
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

    @Test("A version implies the delivery limit of quorum queues")
    func meaning() {
        let texts = ["3.13.7", "4.0.5"].map {
            diagnosis.version(ServerProperties(product: "RabbitMQ", version: $0)).text
        }
        #expect(texts[0] == "RabbitMQ 3.13.7: quorum queues have no delivery limit unless they are declared with one")
        #expect(texts[1].hasPrefix("RabbitMQ 4.0.5: quorum queues have a delivery limit of 20 unless "))
    }

    @Test(
        "The meaning of a delivery limit depends on the version",
        arguments: [
            (nil, "3.13.7", ConnectionFinding.Severity.ok, "none, unless a policy sets one"),
            (
                nil, "4.0.1", .warning,
                "20, RabbitMQ 4's default, unless a policy sets another: restarts of workers can use it up, and the "
                    + "broker drops a request without a result"
            ),
            ("-1", "4.0.1", .ok, "none, unless a policy sets one"),
            ("-1", "3.13.7", .wrong, "-1 means here: a request is dropped after its first failed delivery"),
            ("7", "3.13.7", .ok, "7"), ("7", "4.0.1", .ok, "7"),
        ] as [(String?, String, ConnectionFinding.Severity, String)])
    func limit(current: String?, version: String, severity: ConnectionFinding.Severity, text: String) throws {
        let value = current.map { "the value '\($0)' of type 'signedint'" } ?? "none"
        let found = try findings(
            "push.requests", [difference("x-delivery-limit", "the value '10000' of type 'signedint'", value)],
            version: version)
        let limit = try #require(found.first { $0.subject == "delivery limit of push.requests" })
        #expect(limit.severity == severity && limit.text == text)
    }

    @Test("A classic request queue has no limit, and without a dead-letter exchange drops rejected messages")
    func classic() throws {
        let found = try findings(
            "push.requests",
            [
                difference("x-queue-type", "the value 'quorum' of type 'longstr'", "none"),
                difference("x-dead-letter-exchange", "the value '' of type 'longstr'", "none"),
            ])
        #expect(
            found.map(\.subject) == [
                "queue push.requests", "dead letters of push.requests", "delivery limit of push.requests",
            ])
        #expect(found.map(\.severity) == [.warning, .warning, .note])
        #expect(found[0].text.hasSuffix("; 1 message, 2 consumers"))
    }

    @Test("Only RabbitMQ 3 may mirror a classic queue", arguments: [("3.13.7", true), ("4.0.5", false)])
    func mirrored(version: String, isPossible: Bool) throws {
        let type = try difference("x-queue-type", "the value 'quorum' of type 'longstr'", "none")
        let found = try findings("push.requests", [type], version: version)
        #expect(found.contains { $0.subject == "mirroring of push.requests" } == isPossible)
    }

    @Test("A stream is an error as a request queue, and another type elsewhere a warning")
    func stream() throws {
        let type = try difference("x-queue-type", "'quorum'", "'stream'")
        #expect(try findings("push.requests", [type]).map(\.severity) == [.wrong])
        #expect(try findings("push.dead", [type]).map(\.severity) == [.warning])
    }

    @Test(
        "A request queue without a dead-letter exchange loses repeatedly returned requests, depending on the version",
        arguments: [
            (nil, "3.13.7", "a request that the broker drops is lost"),
            (nil, "4.0.5", "the broker deletes a request that is redelivered more than 20 times"),
            ("7", "4.0.5", "the broker deletes a request that is redelivered more than 7 times"),
            ("-1", "4.0.5", "a request that the broker drops is lost"),
            ("-1", "3.10.8", "the broker deletes a request after its first failed delivery"),
        ] as [(String?, String, String)])
    func deleted(limit: String?, version: String, text: String) throws {
        let current = limit.map { "the value '\($0)' of type 'signedint'" } ?? "none"
        let found = try findings(
            "push.requests",
            [
                difference("x-dead-letter-exchange", "the value '' of type 'longstr'", "none"),
                difference("x-delivery-limit", "the value '10000' of type 'signedint'", current),
            ], version: version)
        let warning = try #require(found.first { $0.subject == "dead letters of push.requests" })
        #expect(warning.severity == .warning)
        #expect(warning.text == "it has no dead-letter exchange: unless a policy names one, \(text)")
    }

    @Test(
        "A retry queue that does not return its messages is an error, another difference is not",
        arguments: [
            ("x-message-ttl", "'5000'", "'6000'", true),
            ("x-dead-letter-routing-key", "'push.requests'", "'other'", true),
            ("x-dead-letter-exchange", "the value '' of type 'longstr'", "none", true),
            ("x-max-length", "none", "the value '10' of type 'signedint'", false),
        ])
    func retryQueue(argument: String, wanted: String, current: String, isWrong: Bool) throws {
        let found = try findings("push.requests.retry.5s", [difference(argument, wanted, current)])
        #expect(found.map(\.severity) == [isWrong ? .wrong : .warning])
    }

    @Test("Delivery limits are checked for request queues only")
    func otherQueue() throws {
        #expect(try findings("push.dead", []).map(\.subject) == ["queue push.dead"])
    }

    @Test("The check does not publish to a custom exchange")
    func exchanges() throws {
        let configuration = try World.configuration { $0.deadLetter.exchange = "push" }
        let remarks = BrokerDiagnosis(configuration).remarks
        #expect(remarks.map(\.subject) == ["publishing to push", "consumer timeout"])
        #expect(remarks.allSatisfy { $0.severity == .note })
    }
}
