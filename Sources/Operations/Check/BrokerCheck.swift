import AMQP
import Configuration
import Core

/// Checks one broker the way a worker uses it: connection, login, queues of the plan, permissions. It changes nothing
/// and consumes no message. Sans-IO like a worker.
///
/// It opens one connection for questions and one for publishing; the first failure ends the check.
final class BrokerCheck: PlaceCheck {
    /// The timeout for a response of the broker.
    private static let timeLimit = Duration.seconds(15)
    /// The timeout for the orderly close at the end.
    private static let closingTime = Duration.seconds(1)

    /// A question on the control connection.
    private enum Question {
        case compare(TopologyPlan.Step, DeclarationComparison)
        case compareBinding(TopologyPlan.Step)
        case read(queue: String)
    }

    private let address: BrokerAddress
    private let diagnosis: BrokerDiagnosis
    private let control: AMQPConnection
    private let publisher: AMQPConnection
    private let resolvedNames: ResolvedNames
    /// Known after the connection is open.
    private var server: ServerProperties?
    private var questions: [Question]
    private var isAsking = false
    private var isPublished = false
    private var mayWrite: ConnectionFinding?
    private(set) var findings: [ConnectionFinding] = []
    private var deadline: Instant
    private var isEnding = false

    init(
        _ address: BrokerAddress, _ configuration: Configuration, resolvedNames: @escaping ResolvedNames,
        at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        self.address = address
        self.resolvedNames = resolvedNames
        diagnosis = BrokerDiagnosis(configuration)
        control = try connect(.control)
        publisher = try connect(.publisher)
        questions = TopologyPlan(configuration).steps.map { step in
            step.subject.map { .compare(step, DeclarationComparison($0)) } ?? .compareBinding(step)
        }
        questions += configuration.queues.map { .read(queue: $0.name) }
        // The connect timeout covers DNS and TCP; the handshakes get the same time again.
        deadline = now + configuration.broker.connectTimeout * 2 + Self.timeLimit
        control.start(at: now)
    }

    /// Whether the check is complete and the connections are closed or given up.
    private(set) var isFinished = false

    var nextDeadline: Instant? {
        isFinished ? nil : deadline
    }

    func step(at now: Moment) {
        while let event = control.nextEvent(at: now.instant) { take(event, at: now) }
        while let event = publisher.nextEvent(at: now.instant) { takeFromPublisher(event) }
        if isEnding {
            if now.instant >= deadline || (control.isClosed && publisher.isClosed) { isFinished = true }
            return
        }
        ask(at: now.instant)
        publish()
        if questions.isEmpty, let mayWrite {
            findings.append(mayWrite)
            findings += diagnosis.remarks
            end(at: now.instant)
        } else if now.instant >= deadline {
            findings.append(ConnectionFinding(.unreachable, "connection", "the broker does not respond"))
            end(at: now.instant)
        }
    }

    func stop(at now: Moment) {
        end(at: now.instant)
        isFinished = true
    }

    private func end(at now: Instant) {
        guard !isEnding else { return }
        isEnding = true
        deadline = now + Self.closingTime
        control.close(at: now)
        publisher.close(at: now)
    }

    // MARK: Questions

    private func take(_ event: AMQPConnection.Event, at now: Moment) {
        switch event {
        case .engine(.opened(let server)):
            // A refusal closes the channel, and reopening it causes another `opened` event.
            guard self.server == nil else { break }
            self.server = server
            opened(server, at: now.wall)
            publisher.start(at: now.instant)
            deadline = now.instant + Self.timeLimit
        case .engine(.responded(let response)):
            isAsking = false
            deadline = now.instant + Self.timeLimit
            responded(response)
        case .disconnected(_, let error, _):
            guard !isEnding else { break }
            if server == nil, let found = ConnectionFinding.addresses(of: address.endpoint, resolvedNames) {
                findings.append(found)
            }
            findings.append(.failure(Self.subject(of: error), error))
            end(at: now.instant)
        default: break
        }
    }

    private func opened(_ server: ServerProperties, at now: WallTime) {
        if let found = ConnectionFinding.addresses(of: address.endpoint, resolvedNames) { findings.append(found) }
        if let security = control.security { findings.append(.secured(security, at: now)) }
        findings.append(
            ConnectionFinding(.ok, "login", "user \"\(address.user)\", virtual host \"\(address.virtualHost)\""))
        findings.append(diagnosis.version(server))
    }

    /// The part of the connection that an error concerns.
    private static func subject(of error: AMQPError) -> String {
        switch error.code {
        case .transport: "connection"
        case .tls: "tls"
        case .accessRefused: "login"
        case .notAllowed: "virtual host"
        default: "connection"
        }
    }

    private func ask(at now: Instant) {
        guard control.isOpen, !isAsking else { return }
        while let question = questions.first {
            switch question {
            case .compare(let step, let comparison):
                if let request = comparison.nextRequest {
                    isAsking = true
                    return control.request(request, at: now)
                }
                guard let finding = comparison.finding, let server else { return }
                findings += diagnosis.findings(about: step, finding, server)
            case .compareBinding(let step): findings += diagnosis.findings(about: step)
            case .read(let queue):
                isAsking = true
                return control.request(.probeReading(queue: queue), at: now)
            }
            questions.removeFirst()
        }
    }

    private func responded(_ response: ControlResponse) {
        switch questions.first {
        case .compare(let step, var comparison)?:
            comparison.take(response)
            questions[0] = .compare(step, comparison)
        case .read(let queue)?:
            questions.removeFirst()
            if case .refused(let error) = response, let found = diagnosis.reading(queue, error) {
                findings.append(found)
            }
        case .compareBinding?, nil: break
        }
    }

    // MARK: Publishing

    /// Publishes a message that no queue accepts: the routing key is random, the message is mandatory and expires at
    /// once.
    private func publish() {
        guard !isPublished, mayWrite == nil, publisher.canPublish else { return }
        var properties = PublicationProperties()
        properties.messageID = ArraySlice("harebell.check".utf8)
        properties.type = ArraySlice("harebell.check".utf8)
        properties.expiration = ArraySlice("0".utf8)
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
        guard !isEnding else { return }
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
