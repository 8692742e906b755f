import Admin
import Core
import EventLoop
import Logging

/// Dead letters over HTTP. Whoever uses any of this has the token.
extension Application {
    static let deadLetterPages = [
        AdminPage("/dead-letters/run", .operators), AdminPage("/dead-letters/look", .operators, isCommand: true),
        AdminPage("/dead-letters/replay", .operators, isCommand: true),
        AdminPage("/dead-letters/stop", .operators, isCommand: true),
    ]

    /// `nil` where it is about something else.
    func answerAboutDeadLetters(_ request: AdminRequest, at now: Moment) -> AdminAnswer? {
        switch request.page.path.description {
        case "/dead-letters/run": break
        case "/dead-letters/look": return order(request.body, replays: false, at: now)
        case "/dead-letters/replay": return order(request.body, replays: true, at: now)
        case "/dead-letters/stop": deadLetters.stop()
        default: return nil
        }
        return progressAnswer()
    }

    private func progressAnswer(_ status: UInt32 = 200) -> AdminAnswer {
        let text = deadLetters.progress.map { JSONAnswer.text(of: $0.members) } ?? "null"
        return AdminAnswer(status: status, contentType: "application/json", body: Array((text + "\n").utf8))
    }

    private func order(_ body: [UInt8], replays: Bool, at now: Moment) -> AdminAnswer {
        guard !isDraining, let resolver else { return .text(503, "503 the process is draining") }
        guard !deadLetters.isBusy else { return .text(409, "409 another order is under way") }
        let order: DeadLetterOrder
        do throws(ArchiveFailure) {
            order = try DeadLetterOrder(body, replays: replays, at: now.wall)
        } catch {
            return .text(400, "400 \(error)")
        }
        do throws(EventLoopError) {
            try deadLetters.start(order, plan.configuration, resolver)
        } catch {
            return .text(500, "500 \(error)")
        }
        if order.verb == .replay { log.notice("dead letters are being replayed, as asked for over HTTP") }
        return progressAnswer(202)
    }

    func heard(_ progress: DeadLetterProgress) {
        deadLetters.heard(progress)
        guard let end = progress.end else { return }
        if progress.verb == .replay {
            log.notice(
                "dead letters were replayed",
                metadata: [
                    "end": "\(end)", "replayed": "\(progress.tally.done)", "left": "\(progress.tally.left)",
                    "refused": "\(progress.tally.refused)", "uncertain": "\(progress.tally.uncertain)",
                ])
        }
        stopWhenEnded()
    }
}
