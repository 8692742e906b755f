import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Channels")
    struct ChannelTests {
        /// Runs `harebell channels` to its end.
        private func channels(_ stage: Stage, _ arguments: String...) throws -> ChildProcess {
            try .harebell(["channels"] + arguments + ["--config", try stage.write()])
        }

        @Test("the command creates, lists, shows and deletes")
        func command() throws {
            let stage = try Stage(script: "")
            let created = try channels(stage, "create", "--message-storage-policy", "latest").expectExit(0)
            let id = String(
                decoding: try #require(stage.simulator.channels.channels(of: ArraySlice(Requests.topic.utf8)).first),
                as: UTF8.self)
            #expect(created.text() == "channel  \(id)\nstorage  latest\n")
            #expect(try channels(stage, "list", "--topic", Requests.topic).text() == "\(id)\n1 channel\n")
            let json = try channels(stage, "list", "--json").text()
            #expect(json.contains("\"channels\":[\"\(id)\"],\"outcome\":\"accepted\",\"status\":200,"), "\(json)")
            #expect(try channels(stage, "show", "--channel", id).text() == "channel  \(id)\nstorage  latest\n")
            #expect(try channels(stage, "delete", "--channel", id).text() == "deleted  \(id)\n")
            #expect(try channels(stage, "list").text() == "0 channels\n")
        }

        @Test("a refusal by APNs ends the command with 65 and its reason")
        func refused() throws {
            let stage = try Stage(script: "operation create: 400 CannotCreateChannelConfig")
            let created = try channels(stage, "create", "--message-storage-policy", "0")
            #expect(created.exit == .exited(65) && created.text().isEmpty)
            #expect(created.text(.errors).hasSuffix("APNs answered 400 CannotCreateChannelConfig\n"))
        }
    }
}
