import AMQP
import Configuration
import Core

/// Checks one broker the way a worker uses it: connection, login, queues of the plan, permissions. It changes nothing
/// and consumes no message. Sans-IO like a worker.
///
/// It opens one connection for questions and one for publishing; the first failure ends the check. A passive
/// declaration asks whether a queue exists, and only then it is declared as planned: the broker keeps what exists and
/// names a difference. The declaration follows the response to the passive one on the same channel. A queue that is
/// deleted within this round trip would be created, as planned; no other queue can be.
final class BrokerCheck: PlaceCheck {
    /// The timeout for a response of the broker.
    private static let timeLimit = Duration.seconds(15)

    private enum Question {
        case exists(TopologyPlan.Step)
        case isAsPlanned(TopologyPlan.Step)
        case mayRead(queue: String)
    }

    private let address: BrokerAddress
    private let diagnosis: BrokerDiagnosis
    private let control: AMQPConnection
    private let publisher: AMQPConnection
    /// Known after the connection is open.
    private var server: ServerProperties?
    private var questions: [(question: Question, request: ControlRequest)]
    private var isAsking = false
    private var isPublished = false
    private var mayWrite: ConnectionFinding?
    private(set) var findings: [ConnectionFinding] = []
    private var broker: BrokerProgress
    private var closing: OrderlyClose?

    init(
        _ address: BrokerAddress, _ configuration: Configuration, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        self.address = address
        diagnosis = BrokerDiagnosis(configuration)
        control = try connect(.control)
        publisher = try connect(.publisher)
        questions = TopologyPlan(configuration).steps.compactMap { step in
            step.inspection.map { (.exists(step), $0) }
        }
        questions += configuration.queues.map { (.mayRead(queue: $0.name), .probeReading(queue: $0.name)) }
        broker = BrokerProgress(limit: Self.timeLimit, at: now)
        control.start(at: now)
    }

    private(set) var isFinished = false

    var nextDeadline: Instant? {
        isFinished ? nil : closing?.deadline ?? broker.deadline
    }

    func trouble(at now: Instant) -> String? { broker.trouble(at: now) }

    func step(at now: Moment) {
        if control.isEstablished { broker.greeted() }
        while closing == nil, let event = control.nextEvent(at: now.instant) { take(event, at: now) }
        while closing == nil, let event = publisher.nextEvent(at: now.instant) { takeFromPublisher(event) }
        if closing == nil { work(at: now.instant) }
        isFinished = closing?.isOver(at: now.instant) ?? false
    }

    private func work(at now: Instant) {
        ask(at: now)
        publish()
        if questions.isEmpty, let mayWrite {
            findings.append(mayWrite)
            end(at: now)
        } else if let failure = broker.failure(at: now) {
            findings.append(ConnectionFinding(.unreachable, "connection", failure))
            end(at: now)
        }
    }

    func stop(at now: Moment) {
        end(at: now.instant)
        isFinished = true
    }

    private func end(at now: Instant) {
        closing = closing ?? OrderlyClose([control, publisher], at: now)
    }

    // MARK: Questions

    private func take(_ event: AMQPConnection.Event, at now: Moment) {
        broker.took(event, at: now.instant)
        switch event {
        case .engine(.opened(let server)):
            // A refusal closes the channel, and reopening it causes another `opened` event.
            guard self.server == nil else { break }
            self.server = server
            opened(server)
            publisher.start(at: now.instant)
            broker.restart(at: now.instant)
        case .engine(.responded(let response)):
            isAsking = false
            broker.restart(at: now.instant)
            responded(response)
        case .disconnected(_, let error, _):
            findings.append(.failure(Self.subject(of: error), error))
            end(at: now.instant)
        default: break
        }
    }

    private func opened(_ server: ServerProperties) {
        if let security = control.security { findings.append(.secured(security)) }
        findings.append(
            ConnectionFinding(.ok, "login", "user \"\(address.user)\", virtual host \"\(address.virtualHost)\""))
        findings.append(diagnosis.version(server))
    }

    /// The part of the connection that an error concerns.
    private static func subject(of error: AMQPError) -> String {
        switch error.code {
        case .tls: "tls"
        case .accessRefused: "login"
        case .notAllowed: "virtual host"
        default: "connection"
        }
    }

    private func ask(at now: Instant) {
        guard control.isOpen, !isAsking, let request = questions.first?.request else { return }
        isAsking = true
        control.request(request, at: now)
    }

    private func responded(_ response: ControlResponse) {
        switch (questions.removeFirst().question, response) {
        case (.exists(let step), .refused(let error)): findings.append(diagnosis.absence(of: step, error))
        case (.exists(let step), _): questions.insert((.isAsPlanned(step), step.declaration), at: 0)
        case (.isAsPlanned(let step), _): findings.append(diagnosis.comparison(of: step, response))
        case (.mayRead(let queue), .refused(let error)):
            if let finding = diagnosis.reading(queue, error) { findings.append(finding) }
        case (.mayRead, _): break
        }
    }

    // MARK: Publishing

    /// Publishes a message that no queue accepts: the routing key is random, the message is mandatory and expires at
    /// once.
    private func publish() {
        guard !isPublished, mayWrite == nil, publisher.canPublish else { return }
        var properties = MessageProperties()
        properties.messageID = Array("harebell.check".utf8)
        properties.type = properties.messageID
        properties.expiration = Array("0".utf8)
        let unusedQueue = "harebell.check-\(UInt64.random(in: 0 ... .max))"
        do {
            _ = try publisher.publish(
                Publication(routingKey: ArraySlice(unusedQueue.utf8), properties: properties, body: []))
            isPublished = true
        } catch {
            preconditionFailure("a request this small can be written: \(error)")
        }
    }

    private func takeFromPublisher(_ event: AMQPConnection.Event) {
        switch event {
        // The broker may still answer the publish after blocking the connection.
        case .engine(.blocked(let reason)): mayWrite = diagnosis.blocked(reason)
        case .engine(.confirmed(_, let confirmation)) where mayWrite == nil && confirmation != .lost:
            mayWrite = diagnosis.writing(nil)
        case .disconnected(_, let error, _) where mayWrite == nil: mayWrite = diagnosis.writing(error)
        default: break
        }
    }
}
