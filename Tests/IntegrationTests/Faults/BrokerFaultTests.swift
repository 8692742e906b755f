import AMQP
import TestSupport
import Testing

extension ProcessTests {
    /// Actions of an operator, or of the broker itself, on queues, users and virtual hosts while a worker runs.
    @Suite("Faults of queues and users")
    struct BrokerFaultTests {
        /// Publishes requests with these numbers and waits for their results.
        private static func exchange(
            _ numbers: Range<Int>, through queue: String, of stage: Stage, worker: ChildProcess
        ) throws {
            try stage.client.publish(numbers.map { stage.requests.message($0, to: queue) })
            try stage.collect(numbers, worker: worker)
        }

        @Test("A14 to A16: a deleted, purged or redeclared queue is consumed again, the other throughout")
        func queues() throws {
            let stage = try Stage()
            let worker = try stage.start()
            try Self.exchange(0..<20, through: stage.quorumQueue, of: stage, worker: worker)
            try stage.client.ask(.deleteQueue(stage.quorumQueue))
            try worker.waitForLine(.errors, within: .seconds(30)) { $0.contains("the broker cancelled the consumer") }
            try Self.exchange(20..<40, through: stage.classicQueue, of: stage, worker: worker)
            try worker.waitForLine(.errors, within: .seconds(30)) {
                $0.contains("the channel of a queue is closed")
            }
            try Self.exchange(40..<60, through: stage.classicQueue, of: stage, worker: worker)
            try stage.client.declare(stage.quorumQueue, ["x-max-length": .int32(1000)])
            try Self.exchange(60..<80, through: stage.quorumQueue, of: stage, worker: worker)
            try stage.client.ask(.purgeQueue(stage.quorumQueue))
            try Self.exchange(80..<100, through: stage.quorumQueue, of: stage, worker: worker)
            try worker.end()
            #expect(stage.simulator.ledger.records.count == 100)
            #expect(!worker.text(.errors).contains("the consuming connection is lost"), "\(worker.report)")
        }

        @Test("A17 to A19: without permissions, password or virtual host the worker waits, and then resumes")
        func users() throws {
            let broker = try PrivateBroker()
            let host = "tenant"
            func makeHost() throws {
                try broker.control("add_vhost", host)
                try broker.control("set_permissions", "-p", host, "guest", ".*", ".*", ".*")
            }
            try makeHost()
            let password = "in-no-message-1"
            try broker.control("add_user", "worker", password)
            func permit(_ what: String) throws {
                try broker.control("set_permissions", "-p", host, "worker", what, what, what)
            }
            try permit(".*")
            let stage = try Stage(broker: broker.url.replacing("%2f", with: host))
            let own = broker.url.replacing("%2f", with: host).replacing("guest:guest", with: "worker:\(password)")
            let worker = try stage.start(Stage.Settings(broker: own))
            try Self.exchange(0..<20, through: stage.quorumQueue, of: stage, worker: worker)
            func closeConnections(_ why: String) throws {
                try broker.control("close_all_connections", "--vhost", host, why)
            }

            try permit("")
            try closeConnections("permissions")
            try worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("ACCESS_REFUSED") }
            try stage.client.publish((20..<40).map { stage.requests.message($0, to: stage.quorumQueue) })
            try permit(".*")
            try stage.collect(20..<40, worker: worker)

            try broker.control("change_password", "worker", "in-no-message-2")
            try closeConnections("password")
            try worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("check user, password") }
            try stage.client.publish((40..<60).map { stage.requests.message($0, to: stage.quorumQueue) })
            try broker.control("change_password", "worker", password)
            try stage.collect(40..<60, worker: worker)

            try broker.control("delete_vhost", host)
            try worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("NOT_ALLOWED") }
            try makeHost()
            try permit(".*")
            let again = try BrokerClient(stage.url)
            for queue in [stage.quorumQueue, stage.classicQueue, stage.resultQueue, stage.deadLetterQueue] {
                try again.declare(queue)
            }
            try again.publish((60..<80).map { stage.requests.message($0, to: stage.quorumQueue) })
            try stage.collect(60..<80, from: again, worker: worker)
            try worker.end()
            #expect(stage.simulator.ledger.records.count == 80, "each once")
            #expect(!worker.text(.errors).contains("in-no-message"), "no password is told")
        }
    }
}
