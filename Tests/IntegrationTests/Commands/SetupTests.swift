import TestSupport
import Testing

extension ProcessTests {
    @Suite("Bad setups")
    struct SetupTests {
        @Test("a refused login ends the worker with 69, and no message shows the password")
        func refusedLogin() throws {
            let stage = try Stage(script: "")
            let broker = stage.url.replacing("guest:guest", with: "guest:wrong-one")
            let worker = try stage.launch(Stage.Settings(broker: broker))
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(69), "\(worker.report)")
            #expect(worker.errors.contains("403 ACCESS_REFUSED"))
            #expect(worker.errors.contains("check user, password and permissions"))
            #expect(!worker.errors.contains("wrong-one"))
        }

        @Test("a missing queue ends the worker with 69 and the command that creates it")
        func missingQueue() throws {
            let stage = try Stage(script: "")
            let worker = try stage.launch(Stage.Settings(queues: [stage.quorumQueue, "\(stage.name).missing"]))
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(69), "\(worker.report)")
            #expect(worker.errors.contains("404 NOT_FOUND - no queue '\(stage.name).missing'"))
            #expect(worker.errors.contains("declare it first"))
            #expect(worker.errors.contains("harebell topology --config FILE --apply"))
            #expect(worker.text().isEmpty, "it was never ready")
        }
    }
}
