import AMQP
import Core
import Glibc
import Simulator
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Bad setups")
    struct SetupTests {
        /// A worker's exit and its error output.
        private static func end(_ worker: ChildProcess) throws -> (exit: ChildProcess.Exit, errors: String) {
            (try worker.waitForExit(within: .seconds(60)), worker.text(.errors))
        }

        private static func endOfRun(_ file: String) throws -> (exit: ChildProcess.Exit, errors: String) {
            let binary = try #require(TestEnvironment.binary)
            return try end(ChildProcess(binary, ["run", "--config", file]))
        }

        // MARK: The configuration

        @Test("control characters are escaped, whatever their source")
        func controlCharacters() throws {
            let (exit, errors) = try Self.endOfRun("/no/such\u{1B}[31m\u{9B}2J\rfile.yaml")
            #expect(exit == .exited(78))
            #expect(errors.contains("/no/such\\u001b[31m\\u009b2J\\rfile.yaml"), "\(errors)")
            #expect(
                errors.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            )
        }

        @Test(
            "a wrong command line ends with 64 and the usage",
            arguments: [
                ["run", "--nothing"], ["bogus"], ["run", "--config"], ["run", "--config", "f", "--fast"],
                ["load", "--count", "many"],
                ["load", "--config", "f", "--queue", "q", "--count", "1", "--rate", "20000000000"],
                ["load", "--config", "f", "--queue", "q", "--count", "9223372036854775807"],
                ["load", "--config", "f", "--queue", "q", "--count", "1", "--body-size", "9223372036854775807"],
                ["simulate"], ["simulate", "--port", "0", "--key-id", "ABC123DEFG"],
            ])
        func usage(arguments: [String]) throws {
            let binary = try #require(TestEnvironment.binary)
            let (exit, errors) = try Self.end(ChildProcess(binary, arguments))
            #expect(exit == .exited(64))
            #expect(errors.hasPrefix("Error: "), "\(errors)")
            #expect(errors.contains("Usage: harebell"), "\(errors)")
        }

        // MARK: The broker

        @Test("a refused login ends the worker with 69, and no message shows the password")
        func refusedLogin() throws {
            let stage = try Stage(script: "")
            var settings = Stage.Settings()
            settings.broker = stage.url.replacing("guest:guest", with: "guest:wrong-one")
            let (exit, errors) = try Self.end(stage.launch(settings))
            #expect(exit == .exited(69))
            #expect(errors.contains("403 ACCESS_REFUSED"), "\(errors)")
            #expect(errors.contains("check user, password and permissions"), "\(errors)")
            #expect(!errors.contains("wrong-one"))
            try stage.removeQueues()
        }

        @Test("a missing queue ends the worker with 69 and the command that creates it")
        func missingQueue() throws {
            let stage = try Stage(script: "")
            var settings = Stage.Settings()
            settings.queues = [stage.quorumQueue, "\(stage.name).missing"]
            let worker = try stage.launch(settings)
            let (exit, errors) = try Self.end(worker)
            #expect(exit == .exited(69))
            #expect(errors.contains("404 NOT_FOUND - no queue '\(stage.name).missing'"), "\(errors)")
            #expect(errors.contains("declare it first"), "\(errors)")
            #expect(errors.contains("harebell topology --config FILE --apply"), "\(errors)")
            #expect(worker.text().isEmpty, "it was never ready")
            try stage.removeQueues()
        }

        @Test("a worker waits for a broker that is not running yet")
        func lateBroker() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            try broker.stop()
            let worker = try stage.launch()
            try worker.waitForLine(.errors) { $0.contains("the consuming connection cannot be opened; trying again") }
            #expect(worker.text(.errors).contains("Connection refused"))
            #expect(worker.text().isEmpty)
            try broker.start()
            try worker.waitForLine("ready", within: .seconds(60))
            try stage.client.publish([stage.requests.message(0, to: stage.quorumQueue)])
            try stage.client.consume([stage.resultQueue]) { try Conservation.Result($0).outcome == "accepted" }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
        }

        // MARK: APNs

        /// Publishes requests whose numbers start at 0, for a worker with a valid setup.
        private static func sendTheRest(_ stage: Stage, _ count: Int, _ settings: Stage.Settings) throws {
            let worker = try stage.start(settings)
            var responded: Set<Int> = []
            try stage.client.consume([stage.resultQueue]) { delivery in
                #expect(try Conservation.Result(delivery).outcome == "accepted")
                responded.insert(try #require(stage.requests.index(ofMessageID: delivery.correlationID)))
                return responded.count == count
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            for queue in [stage.quorumQueue, stage.resultQueue, stage.deadLetterQueue] {
                #expect(try stage.client.takeAll(queue).isEmpty, "\(queue)")
            }
        }

        @Test("requests wait while APNs's certificate is not trusted, and are sent once it is")
        func untrustedCertificate() throws {
            let stage = try Stage(script: "")
            let stranger = CertificateAuthority(commonName: "Stranger", now: SystemClock.now().wall)
            var settings = Stage.Settings()
            settings.authorityFile = try stage.directory.write(stranger.certificatePEM, to: "stranger.pem")
            settings.drainDeadline = 1
            let worker = try stage.start(settings)
            try stage.client.publish((0..<5).map { stage.requests.message($0, to: stage.quorumQueue) })
            let line = try worker.waitForLine(.errors) { $0.contains("cannot connect to APNs; trying again") }
            #expect(line.contains(" warning "), "\(line)")
            #expect(
                line.contains("comes from \\\"Harebell Simulator\\\", an authority that is not trusted here"), "\(line)"
            )
            worker.signal(SIGTERM)
            // If the broker closed the connection meanwhile, everything is back in its queue: nothing is truncated.
            let end = try worker.waitForExit()
            let isLost = worker.text(.errors).contains("the consuming connection is lost")
            #expect(end == .exited(isLost ? 0 : 70), "\(worker.report)")
            #expect(stage.simulator.ledger.statistics.requests == 0)
            #expect(try stage.client.takeAll(stage.deadLetterQueue).isEmpty)
            try Self.sendTheRest(stage, 5, Stage.Settings())
            try stage.removeQueues()
        }
    }
}
