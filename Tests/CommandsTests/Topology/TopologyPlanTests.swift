import AMQP
import Core
import Decoding
import SimulatedWorld
import Testing

@testable import Commands
@testable import Configuration

@Suite("Topology plan")
struct TopologyPlanTests {
    private func plan(_ edit: (inout Configuration) -> Void = { _ in }) throws -> TopologyPlan {
        TopologyPlan(try World.configuration(edit))
    }

    private func queues(_ edit: (inout Configuration) -> Void = { _ in }) throws -> [QueueDeclaration] {
        try plan(edit).steps.compactMap { if case .declareQueue(let queue) = $0.declaration { queue } else { nil } }
    }

    @Test("Queues precede those that dead-letter into them, and each is declared once")
    func order() throws {
        let names = try plan().steps.map(\.name)
        let retries = [5, 30, 120, 900, 1800, 3600].map { "push.requests.retry.\($0)s" }
        #expect(names == ["push.dead", "push.results", "push.feedback", "push.requests"] + retries)
    }

    @Test("Retry queues return messages after their delay, and keep those that the request queue refuses")
    func retries() throws {
        let queues = try queues {
            $0.retry.delays = [.seconds(60), .seconds(5)]
            $0.retry.throttledDelays = [.seconds(5)]
        }.filter { $0.name.contains(".retry.") }
        #expect(queues.map(\.name) == ["push.requests.retry.5s", "push.requests.retry.60s"])
        let queue = try #require(queues.last)
        #expect(queue.arguments["x-message-ttl"] == .int32(60_000))
        #expect(queue.arguments["x-dead-letter-exchange"] == .string(""))
        #expect(queue.arguments["x-dead-letter-routing-key"] == .string("push.requests"))
        #expect(queue.arguments["x-dead-letter-strategy"] == .string("at-least-once"))
        #expect(queue.arguments["x-overflow"] == .string("reject-publish"))
    }

    @Test("An ordered queue has a single active consumer, its retry queues do not")
    func singleActive() throws {
        let queues = try queues {
            $0.queues[0].isSingleActive = true
            $0.retry.delays = [.seconds(60)]
            $0.retry.throttledDelays = [.seconds(60)]
        }.filter { $0.name.hasPrefix("push.requests") }
        #expect(queues.map { $0.arguments["x-single-active-consumer"] } == [.boolean(true), nil])
    }

    @Test("One queue for several purposes is declared once")
    func shared() throws {
        let route = Configuration.Route(exchange: "", routingKey: "push.dead")
        let steps = try plan {
            $0.results.route = route
            $0.feedback = route
        }.steps
        #expect(steps.map(\.name).filter { !$0.contains(".retry.") } == ["push.dead", "push.requests"])
        #expect(steps.first?.kind == "queue" && steps.first?.purpose.split(separator: "; ").count == 3)
    }

    @Test("A route through an exchange declares it, a queue and their binding")
    func exchange() throws {
        let steps = try plan {
            $0.results.route = Configuration.Route(exchange: "push", routingKey: "results")
            $0.feedback = nil
            $0.retry.throttledDelays = $0.retry.delays
        }.steps
        let declarations = steps.map(\.declaration)
        #expect(declarations.contains(.declareExchange("push", type: "direct")))
        #expect(declarations.contains(.bindQueue("results", exchange: "push", routingKey: "results")))
        #expect(steps.count == 5 + 3)
        let keyless = try plan { $0.results.route = Configuration.Route(exchange: "push", routingKey: "") }.steps
        #expect(keyless.allSatisfy { !$0.name.isEmpty && $0.kind != "binding" })
    }

    @Test("Request queues discard a message only into the dead letters")
    func requests() throws {
        let queue = try #require(try queues().first { $0.name == "push.requests" })
        #expect(queue.arguments["x-dead-letter-exchange"] == .string(""))
        #expect(queue.arguments["x-dead-letter-routing-key"] == .string("push.dead"))
        #expect(queue.arguments["x-dead-letter-strategy"] == .string("at-least-once"))
        #expect(queue.arguments["x-overflow"] == .string("reject-publish"))
    }

    @Test("Every queue is a durable quorum queue with a delivery limit above the worker's own")
    func deliveryLimit() throws {
        let queues = try queues {
            $0.results.route = Configuration.Route(exchange: "", routingKey: "answers")
            $0.feedback = Configuration.Route(exchange: "dead", routingKey: "tokens")
        }
        #expect(queues.count == 10)
        #expect(queues.allSatisfy { $0.arguments["x-delivery-limit"] == .int32(10_000) })
        #expect(queues.allSatisfy { $0.durable && $0.arguments["x-queue-type"] == .string("quorum") })
    }

    @Test("The report is a table with a row for each step")
    func report() throws {
        let plan = try plan { $0.results.route = Configuration.Route(exchange: "push", routingKey: "answers") }
        let rows = TopologyReport(plan: plan).lines.map { $0.split(separator: #/ {2,}/#).map(String.init) }
        for row in [
            ["KIND", "NAME", "PURPOSE"], ["exchange", "push", "type direct"], ["queue", "push.requests", "requests"],
            ["queue", "push.requests.retry.5s", "requests that wait 5 s to be tried again"],
            ["binding", "push -> answers", "routing key answers"],
        ] {
            #expect(rows.count { $0 == row } == 1, "\(row): \(rows)")
        }
    }

    @Test("Only a plan that is declared in full is ok, steps without an answer are unknown, none answered is no table")
    func unanswered() throws {
        let plan = try plan()
        let all = [String?](repeating: nil, count: plan.steps.count)
        for (answers, isOK) in [(nil, true), (all, true), ([], false), ([nil], false), (["no"], false)] {
            let report = TopologyReport(plan: plan, answers: answers)
            let json = JSONOutput.object(report.json).description
            #expect(json.hasPrefix("{\"ok\":\(isOK),") && json.contains("\"purpose\":\"requests\""), "\(json)")
            #expect(json.contains("\"state\":\"refused\",\"detail\":\"no\"") == (answers?.first == "no"), "\(json)")
            let unknown = answers.map { all.count - $0.count } ?? 0
            #expect(json.ranges(of: "\"state\":\"unknown\"").count == unknown, "\(json)")
            #expect(report.lines.isEmpty == answers?.isEmpty ?? false)
        }
    }
}
