import Core
import SimulatedWorld
import TLS
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

@Suite("PoolRoster")
struct PoolRosterTests {
    private static func plan(_ port: UInt16, _ topic: String = "com.example.app") throws -> PoolPlan {
        var app = try World.configuration().apps[0]
        app.endpoint = Endpoint(host: "apns.test", port: port)
        app.topic = topic
        return PoolPlan(app, try World.configuration().apns, digest: [1])
    }

    private static func app(_ number: PoolID, management: PoolID? = nil) -> PipelineApp {
        PipelineApp(
            topic: "com.example.app", environment: .production,
            pools: .init(notifications: number, management: management ?? number))
    }

    private func second(_ seconds: Double) -> Instant {
        Instant(nanoseconds: Int64(seconds * 1e9))
    }

    @Test("A pool serves its own plan and no foreign bundle ID, until it is leaving")
    func serves() throws {
        var roster = PoolRoster()
        let plan = try Self.plan(1)
        #expect(roster.number(serving: plan) == nil)
        let number = roster.add(plan, opens: false, at: second(0))
        #expect(roster.number(serving: plan) == number)
        #expect(roster.number(serving: try Self.plan(2)) == nil)
        #expect(roster.number(serving: try Self.plan(1, "com.example.other")) == nil, "bound to its bundle IDs")
        let leaving = roster.retire(besides: [])
        #expect(leaving == [number] && roster.number(serving: plan) == nil)
    }

    /// The states of a pool at a handover.
    enum Stage: CaseIterable {
        case opening, connected, late, notOpened
    }

    @Test("A pool takes over when it is connected, or late, or opens only on use", arguments: Stage.allCases)
    func takesOver(stage: Stage) throws {
        var roster = PoolRoster()
        let number = roster.add(try Self.plan(1), opens: stage != .notOpened, at: second(0))
        if stage == .connected { roster.connected(number) }
        roster.scheduleChange(7, to: Self.app(number))
        let due = roster.takeDueChanges(at: second(stage == .late ? 10 : 9.9))
        #expect(due.map(\.slot) == (stage == .opening ? [] : [7]))
        #expect(roster.isChanging == (stage == .opening))
        #expect(roster.nextDeadline == (stage == .opening ? second(10) : nil))
        let again = roster.takeDueChanges(at: second(20))
        #expect(again.map(\.slot) == (stage == .opening ? [7] : []), "each goes over once")
    }

    @Test("An app waits for all of its pools, and a later plan replaces an earlier one")
    func replaced() throws {
        var roster = PoolRoster()
        let slow = roster.add(try Self.plan(1), opens: true, at: second(0))
        let fast = roster.add(try Self.plan(2), opens: true, at: second(0))
        roster.connected(fast)
        roster.scheduleChange(0, to: Self.app(fast))
        roster.scheduleChange(0, to: Self.app(fast, management: slow))
        #expect(roster.takeDueChanges(at: second(1)).map(\.slot) == [])
        roster.scheduleChange(0, to: Self.app(fast))
        let due = roster.takeDueChanges(at: second(1))
        #expect(due.map(\.app.pools.management) == [fast])
        #expect(roster.retire(besides: due.map(\.app)) == [slow])
    }

    @Test("A pool stays while an app is to be handed over to it, and leaves once no app uses it")
    func wanted() throws {
        var roster = PoolRoster()
        let old = roster.add(try Self.plan(1), opens: false, at: second(0))
        let new = roster.add(try Self.plan(2), opens: true, at: second(0))
        roster.scheduleChange(0, to: Self.app(new))
        #expect(roster.retire(besides: [Self.app(old)]) == [])
        roster.cancelPendingChange(of: 0)
        #expect(roster.retire(besides: [Self.app(old)]) == [new])
    }

    @Test("The number of a pool is reused once the pool has drained, and not before")
    func numbers() throws {
        var roster = PoolRoster()
        let first = roster.add(try Self.plan(1), opens: false, at: second(0))
        _ = roster.retire(besides: [])
        #expect(roster.isChanging && roster.leaving == [first])
        let second = roster.add(try Self.plan(2), opens: false, at: second(0))
        #expect(second != first)
        roster.remove(first)
        #expect(!roster.isChanging && roster.numbers == [second])
        let third = roster.add(try Self.plan(3), opens: false, at: self.second(0))
        #expect(third == first)
    }
}
