import Admin
import Core
import Decoding
import Logging
import Runtime
import System

/// Dead-letter operations over HTTP (token required).
extension Application {
    static let deadLetterPages = [
        AdminPage("/dead-letters/run", .operators), AdminPage("/dead-letters/look", .operators, .post),
        AdminPage("/dead-letters/replay", .operators, .post),
        AdminPage("/dead-letters/stop", .operators, .post),
    ]

    /// `nil` for other pages.
    func deadLetterResponse(_ request: AdminRequest, at now: Moment) -> AdminResponse? {
        switch request.page.path.description {
        case "/dead-letters/run": break
        case "/dead-letters/look": return order(request, replays: false, at: now)
        case "/dead-letters/replay": return order(request, replays: true, at: now)
        case "/dead-letters/stop":
            if deadLetters.isBusy {
                log.notice(
                    "a dead-letter operation is being stopped by an HTTP request",
                    metadata: ["from": "\(request.peer)"])
            }
            deadLetters.handleStop()
        default: return nil
        }
        return progressResponse()
    }

    private func progressResponse(_ status: UInt32 = 200) -> AdminResponse {
        let text = deadLetters.progress.map { JSONOutput.text(of: $0.members) } ?? "null"
        return AdminResponse(status: status, contentType: "application/json", body: Array((text + "\n").utf8))
    }

    private func order(_ request: AdminRequest, replays: Bool, at now: Moment) -> AdminResponse {
        guard !shutdown.isDraining, let resolver else { return .text(503, "503 the process is draining") }
        guard !deadLetters.isBusy else { return .text(409, "409 another operation is running") }
        let order: DeadLetterOperation
        do throws(ArchiveFailure) {
            order = try DeadLetterOperation(request.body, replays: replays, at: now.wall)
        } catch {
            return .text(400, "400 \(error)")
        }
        do throws(EventLoopError) {
            try deadLetters.start(order, plan.configuration, resolver)
        } catch {
            return .text(500, "500 \(error)")
        }
        if order.verb == .replay {
            var metadata = order.metadata
            metadata["from"] = "\(request.peer)"
            log.notice("dead letters are being replayed by an HTTP request", metadata: metadata)
        }
        return progressResponse(202)
    }

    func deadLettersProgressed(_ progress: DeadLetterProgress) {
        deadLetters.progressed(progress)
        guard let end = progress.end else { return }
        if progress.verb == .replay {
            var metadata: Logger.Metadata = [
                "end": "\(end)", "replayed": "\(progress.tally.done)", "left": "\(progress.tally.left)",
                "refused": "\(progress.tally.refused)", "uncertain": "\(progress.tally.uncertain)",
            ]
            if let detail = progress.detail { metadata["detail"] = "\(detail)" }
            let isAsPlanned = end == "complete" || end == "interrupted"
            log.log(level: isAsPlanned ? .notice : .warning, "dead letters were replayed", metadata: metadata)
        } else if progress.tally.renewed > 0 {
            log.notice(
                "dead letters near their delivery limit were moved to the end of their queue",
                metadata: ["messages": .stringConvertible(progress.tally.renewed)])
        }
        stopWhenEnded()
    }
}

extension DeadLetterOperation {
    /// The filter and the rate.
    fileprivate var metadata: Logger.Metadata {
        var fields: Logger.Metadata = ["rate": .stringConvertible(rate)]
        if let limit { fields["limit"] = .stringConvertible(limit) }
        if !filter.outcomes.isEmpty { fields["outcomes"] = "\(filter.outcomes.joined(separator: ","))" }
        if !filter.reasons.isEmpty { fields["reasons"] = "\(filter.reasons.joined(separator: ","))" }
        fields["topic"] = filter.topic.map { "\($0)" }
        fields["environment"] = filter.environment.map { "\($0.rawValue)" }
        fields["origin"] = filter.origin.map { "\($0)" }
        fields["since"] = filter.since.map { "\($0.inUTC)" }
        fields["until"] = filter.until.map { "\($0.inUTC)" }
        return fields
    }
}
