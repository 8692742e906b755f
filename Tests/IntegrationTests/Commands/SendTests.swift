import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell send")
    struct SendTests {
        private static func send(_ stage: Stage, _ arguments: [String]) throws -> ChildProcess {
            let file = try stage.directory.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload.json")
            return try stage.run(["send", "--payload", file] + arguments)
        }

        @Test("straight to APNs prints the result, and its exit code is 0, 65 or 69")
        func direct() throws {
            let stage = try Stage(script: "token 5e4d: 503 ServiceUnavailable")
            try stage.write(Stage.Settings(moreApps: stage.app("com.example.second")))
            let accepted = try Self.send(
                stage,
                ["--device-token", "00aa", "--topic", Requests.topic, "--id", "123e4567-e89b-12d3-a456-426655440000"])
            #expect(accepted.exit == .exited(0), "\(accepted.report)")
            #expect(
                accepted.text() == """
                    {"apns-id":"123e4567-e89b-12d3-a456-426655440000","device-token":"00aa",\
                    "apns-topic":"\(Requests.topic)","environment":"production","outcome":"accepted","status":200,\
                    "reason":null,"action":"none","timestamp":null,"apns-unique-id":null,"attempts":1,\
                    "processed":"yes","message-id":"123e4567-e89b-12d3-a456-426655440000","detail":null}

                    """)
            #expect(!accepted.errors.contains("accepted"), "a summary is for people: \(accepted.errors)")

            try stage.write()
            for (arguments, outcome) in [
                (["--device-token", "dead00"], "unregistered"),
                (["--device-token", "00aa", "--priority", "3"], "invalid"),
                (["--device-token", "00aa", "--expiration", "1000000000"], "expired"),
                (["--channel", "QUJD", "--push-type", "liveactivity"], "unregistered"),
            ] {
                let end = try Self.send(stage, arguments).expectExit(65)
                #expect(end.text().contains("\"outcome\":\"\(outcome)\""), "\(end.report)")
            }
            for (arguments, outcome) in [
                ([], "undelivered"), (["--expiration", "0"], "expired"),
            ] as [([String], String)] {
                let failed = try Self.send(stage, ["--device-token", "5e4d"] + arguments).expectExit(69)
                let text = "\"outcome\":\"\(outcome)\",\"status\":503,\"reason\":\"ServiceUnavailable\""
                #expect(failed.text().contains(text), "\(failed.report)")
            }
            let silent = try Self.send(stage, ["--device-token", "deaf", "--timeout", "1"]).expectExit(69)
            #expect(silent.text().contains("\"processed\":\"unknown\""), "\(silent.report)")
            try stage.write(Stage.Settings(apnsPort: 1))
            let broadcast = try Self.send(stage, ["--channel", "QUJD", "--push-type", "liveactivity"]).expectExit(69)
            #expect(broadcast.text().contains("\"outcome\":\"expired\""), "\(broadcast.report)")
        }

        @Test("through a queue prints the worker's result")
        func queued() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start()
            for (token, exit, outcome) in [("00aa", Int32(0), "accepted"), ("dead00", 65, "unregistered")] {
                let end = try Self.send(stage, ["--device-token", token, "--queue", stage.quorumQueue]).expectExit(exit)
                #expect(end.text().contains("\"outcome\":\"\(outcome)\""), "\(end.report)")
            }
            try worker.end()
            let unread = try Self.send(
                stage, ["--device-token", "00aa", "--queue", stage.quorumQueue, "--timeout", "2"]
            ).expectExit(69)
            #expect(unread.errors.contains("no result came in time"), "\(unread.report)")
            #expect(unread.text().isEmpty && !unread.errors.contains("00aa"))
        }

        @Test("an alert needs no file, and its text is sent unchanged")
        func alert() throws {
            let stage = try Stage(script: "")
            try stage.write()
            try stage.run(
                ["send", "--device-token", "00aa", "--title", "A \"b\"", "--body", "d\u{1F980}"]
            ).expectExit(0)
            let payload = #"{"aps":{"alert":{"title":"A \"b\"","body":"d🦀"}}}"#
            #expect(stage.simulator.ledger.statistics.payloadBytes == payload.utf8.count)
            for arguments in [["--body", "a", "--payload", "-"], []] {
                try stage.run(["send", "--device-token", "00aa"] + arguments).expectExit(64)
            }
        }

        @Test("a wrong command line is 64, a bad configuration or key 78, and neither shows the payload")
        func setup() throws {
            let stage = try Stage()
            try stage.write(Stage.Settings(moreApps: stage.app("\(Requests.topic)\n    environment: development")))
            for arguments in [
                ["--device-token", "c0ffee"], ["--device-token", "c0ffee", "--topic", Requests.topic],
                [], ["--device-token", "c0ffee", "--channel", "QUJD"], ["--device-token", "c0ffee", "--timeout", "0"],
                ["--device-token", "c0ffee", "--environment", "test"],
                ["--device-token", "c0ffee", "--environment", "production", "--payload", "none.json"],
            ] {
                let end = try Self.send(stage, arguments)
                #expect(end.exit == .exited(64), "\(arguments): \(end.report)")
                #expect(end.text().isEmpty && !end.errors.contains("c0ffee"), "\(end.report)")
            }
            try stage.write(Stage.Settings(keyFile: stage.directory.file("none.p8")))
            let unreadable = try Self.send(stage, ["--device-token", "c0ffee"]).expectExit(78)
            #expect(unreadable.errors.contains("cannot read the signing key file"), "\(unreadable.report)")
            try stage.directory.write("nothing: good\n", to: "harebell.yaml")
            let wrong = try Self.send(stage, ["--device-token", "c0ffee"]).expectExit(78)
            for end in [unreadable, wrong] { #expect(!end.errors.contains("c0ffee") && !end.errors.contains("Hello")) }
        }
    }
}
