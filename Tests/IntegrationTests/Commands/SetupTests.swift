import TestSupport
import Testing

extension ProcessTests {
    @Suite("Bad setups")
    struct SetupTests {
        /// A worker's exit and its error output.
        private static func end(_ worker: ChildProcess) throws -> (exit: ChildProcess.Exit, errors: String) {
            (try worker.waitForExit(within: .seconds(60)), worker.text(.errors))
        }

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
            try worker.end()
        }
    }
}
