import Core
import TestSupport
import Testing

@testable import Pipeline

@Suite("Counting notifications")
struct NotificationTallyTests {
    private func totals(_ tally: NotificationTally) -> [NotificationTally.Key: UInt64] {
        var totals: [NotificationTally.Key: UInt64] = [:]
        tally.add(to: &totals) { AppName("app \($0)", .production) }
        return totals
    }

    private func key(
        _ topic: String?, _ type: PushType?, _ outcome: Outcome, _ reason: String? = nil
    ) -> NotificationTally.Key {
        NotificationTally.Key(
            app: topic.map { AppName($0, .production) }, pushType: type, outcome: outcome,
            reason: reason.map { RejectionReason(rawValue: $0) })
    }

    @Test("Each app, push type, outcome and reason is counted separately")
    func series() {
        var tally = NotificationTally()
        let bad = RejectionReason(rawValue: "BadDeviceToken")
        for _ in 0..<3 { tally.count(app: 2, .alert, .accepted, nil) }
        tally.count(app: 2, .alert, .unregistered, bad)
        tally.count(app: 2, .voip, .accepted, nil)
        tally.count(app: 0, .widgets, .unregistered, bad)
        tally.count(app: nil, .widgets, .invalid, nil)
        tally.count(app: nil, nil, .invalid, nil)
        #expect(
            totals(tally) == [
                key("app 2", .alert, .accepted): 3, key("app 2", .alert, .unregistered, "BadDeviceToken"): 1,
                key("app 2", .voip, .accepted): 1, key("app 0", .widgets, .unregistered, "BadDeviceToken"): 1,
                key(nil, .widgets, .invalid): 1, key(nil, nil, .invalid): 1,
            ])
    }

    @Test("Undocumented reasons are one series, however many a peer invents")
    func inventedReasons() {
        var tally = NotificationTally()
        for number in 0..<500 { tally.count(app: 0, .alert, .rejected, RejectionReason(rawValue: "Reason\(number)")) }
        tally.count(app: 0, .alert, .rejected, NotificationTally.unknownReason)
        #expect(totals(tally) == [key("app 0", .alert, .rejected, "unknown"): 501])
    }

    @Test("An app's counts restart when its number is reused")
    func forgetting() {
        var tally = NotificationTally()
        for app in 0..<3 { tally.count(app: AppID(app), .widgets, .accepted, nil) }
        tally.forget(app: 1)
        tally.forget(app: 7)
        #expect(totals(tally) == [key("app 0", .widgets, .accepted): 1, key("app 2", .widgets, .accepted): 1])
    }

    @Test("The counts of several workers are added")
    func addition() {
        var tally = NotificationTally()
        tally.count(app: 0, .alert, .accepted, nil)
        var sums: [NotificationTally.Key: UInt64] = [:]
        for _ in 0..<3 { tally.add(to: &sums) { _ in AppName("one", .production) } }
        #expect(sums == [key("one", .alert, .accepted): 3])
    }
}
