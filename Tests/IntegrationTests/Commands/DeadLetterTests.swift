import AMQP
@testable import Commands
import Core
import Foundation
import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell dead-letters")
    struct DeadLetterTests {
        private let stage: Stage

        init() throws {
            stage = try Stage(script: "")
            try stage.write()
        }

        private func start(_ arguments: [String]) throws -> ChildProcess {
            try ChildProcess(
                stage.binary, ["dead-letters"] + arguments + ["--config", stage.directory.file("harebell.yaml")])
        }

        /// Runs it to its end, and until the queue has its unsettled messages back.
        ///
        /// - Parameter left: the number of messages then in the queue, if known.
        private func run(_ arguments: String..., left: Int? = nil) throws -> ChildProcess {
            let process = try stage.run(["dead-letters"] + arguments)
            // With 69 it held nothing: there is no queue, or another process has the lock.
            if process.exit != .exited(69) {
                let queue = arguments.firstIndex(of: "--queue").map { arguments[$0 + 1] } ?? stage.deadLetterQueue
                try stage.client.waitUntilLeft(queue, by: process, messages: left)
            }
            return process
        }

        /// A private dead-letter queue of either type, and its request queue.
        private struct Queues {
            let dead: String
            let target: String
        }

        private func queues(_ type: String) throws -> Queues {
            let queues = Queues(dead: "\(stage.name).dead.\(type)", target: "\(stage.name).target.\(type)")
            for queue in [queues.dead, queues.target] {
                try stage.client.declare(queue, ["x-queue-type": .string(type)])
            }
            try stage.write(Stage.Settings(queues: [stage.quorumQueue, stage.classicQueue, queues.target]))
            return queues
        }

        /// Puts numbered dead letters into a queue, every third with a different reason.
        private func put(_ count: Int, into queues: Queues, outcome: String = "rejected") throws {
            try stage.client.publish(
                (0..<count).map { index in
                    var properties = MessageProperties()
                    properties.messageID = Array("\(index)".utf8)
                    properties.headers = [
                        "harebell-outcome": .string(outcome),
                        "harebell-reason": .string(index % 3 == 0 ? "BadTopic" : "TopicDisallowed"),
                        "harebell-queue": .string(queues.target), "harebell-replays": .int32(0),
                        "harebell-failed-at": .string("2026-11-21T22:27:40Z"),
                    ]
                    return Publication(
                        routingKey: ArraySlice(queues.dead.utf8), properties: properties,
                        body: ArraySlice("{\"number\":\(index)}".utf8))
                })
        }

        private func numbers(_ queue: String) throws -> [Int] {
            try stage.client.takeAll(queue).map { Int(String(decoding: $0.messageID ?? [], as: UTF8.self)) ?? -1 }
        }

        @Test("listing changes neither number nor order, and shows all messages", arguments: ["quorum", "classic"])
        func looking(type: String) throws {
            let queues = try queues(type)
            try put(500, into: queues)
            let list = try run("list", "--queue", queues.dead, "--json", left: 500).expectExit(0)
            #expect(try list.object()["messages"] as? Int == 500)
            let groups = try #require(try list.object()["groups"] as? [[String: Any]])
            #expect(groups.map { $0["reason"] as? String } == ["TopicDisallowed", "BadTopic"])
            #expect(groups.map { $0["count"] as? Int } == [333, 167])
            #expect(groups[0]["queue"] as? String == queues.target)
            #expect(groups[0]["first_failed_at"] as? String == "2026-11-21T22:27:40Z")
            let table = try run("list", "--queue", queues.dead, "--reason", "BadTopic", "--limit", "5", left: 500)
            #expect(table.text().contains("5 of 500 messages"), "\(table.report)")
            let dry = try run(
                "replay", "--queue", queues.dead, "--reason", "BadTopic", "--dry-run", "--json", left: 500)
            #expect(dry.exit == .exited(0), "\(dry.report)")
            let targets = try #require(try dry.object()["groups"] as? [[String: Any]])
            #expect(targets.map { $0["target"] as? String } == [queues.target])
            #expect(try run("discard", "--queue", queues.dead, "--all", "--dry-run", left: 500).exit == .exited(0))
            let show = try run("show", "--queue", queues.dead, "--id", "7", left: 500)
            #expect(show.text().contains(#/harebell-reason +TopicDisallowed\n/#), "\(show.report)")
            #expect(!show.text().contains("number"), "no body is shown")
            #expect(show.text().hasSuffix("\n1 of 500 messages in \(queues.dead)\n"), "\(show.report)")
            #expect(try run("show", "--queue", queues.dead, "--id", "none", left: 500).exit == .exited(65))
            let payload = try run("show", "--queue", queues.dead, "--id", "7", "--show-payloads", left: 500)
            #expect(payload.text().contains("number"))
            let copy = stage.directory.file("copy.jsonl")
            #expect(try run("export", "--queue", queues.dead, "--file", copy, left: 500).exit == .exited(0))
            #expect(try String(contentsOfFile: copy, encoding: .utf8).split(separator: "\n").count == 500)
            #expect(try numbers(queues.target) == [])
            #expect(try numbers(queues.dead) == Array(0..<500))
        }

        @Test(
            "a replay killed or stopped at any moment loses nothing, and another continues, but none at the same time",
            arguments: ["quorum", "classic"])
        func killed(type: String) throws {
            let queues = try queues(type)
            let count = 3000
            try put(count, into: queues)
            for part in 1...3 {
                let before = try stage.client.count(queues.target)
                let process = try start(["replay", "--queue", queues.dead, "--rate", "1000", "--yes"])
                try eventually("a tenth replayed, part of it now; \(process.report)", within: .seconds(30)) {
                    try stage.client.count(queues.target) >= max(part * 300, before + 1) ? true : nil
                }
                if part == 1 { try expectLocked(queues.dead) }
                process.signal(part == 2 ? SIGTERM : SIGKILL)
                let isStopped = try process.waitForExit() == .exited(65) && process.text().hasPrefix("replayed  ")
                #expect(isStopped == (part == 2), "\(process.report)")
                try waitUntilBack(count, queues, from: process)
            }
            try run("replay", "--queue", queues.dead, "--yes", "--json").expectExit(0)
            let sent = try numbers(queues.target)
            #expect(Set(sent) == Set(0..<count), "none is lost")
            #expect(sent.count <= count + 3 * 400, "twice is what was under way")
            #expect(try numbers(queues.dead) == [])
        }

        /// Another command names the lock, reads nothing, which would count wrong, and leaves no file.
        private func expectLocked(_ queue: String) throws {
            let copy = stage.directory.file("copy.jsonl")
            for command in [["replay", "--yes", "--json"], ["list"], ["export", "--file", copy]] {
                let process = try stage.run(["dead-letters"] + command + ["--queue", queue])
                #expect(process.exit == .exited(69), "\(command): \(process.report)")
                #expect(process.text(.errors).contains("\(queue).replay.lock"), "\(process.report)")
                #expect(process.text().contains(#/"end": ?"locked"/#) == (command[0] == "replay"), "\(process.report)")
                #expect(command[0] == "replay" || process.text().isEmpty, "\(process.report)")
                #expect(!FileManager.default.fileExists(atPath: copy), "\(command)")
            }
        }

        /// Waits until the broker has noticed the killed replay: its messages are requeued, and its lock is released.
        private func waitUntilBack(_ count: Int, _ queues: Queues, from process: ChildProcess) throws {
            try stage.client.waitUntilLeft(queues.dead, by: process)
            try eventually("\(count) messages; \(process.report)", within: .seconds(30)) {
                try stage.client.count(queues.dead) + stage.client.count(queues.target) >= count ? true : nil
            }
            try eventually("the end of the lock; \(process.report)", within: .seconds(30)) { () -> Bool? in
                do {
                    try stage.client.ask(.inspectQueue(DeadLetterRun.lockName(of: queues.dead)))
                    return nil
                } catch let error as AMQPError where error.code == .resourceLocked {
                    return nil
                } catch let error as AMQPError where error.code == .notFound {
                    return true
                }
            }
        }

        @Test(
            "the broker's own dead letters go back to their original queues",
            arguments: ["rejected", "expired", "maxlen", "delivery_limit"])
        func broker(reason: String) throws {
            let queues = try queues("quorum")
            let work = "\(stage.name).work"
            var arguments: FieldTable = [
                "x-dead-letter-exchange": .string(""), "x-dead-letter-routing-key": .string(queues.dead),
            ]
            switch reason {
            case "expired": arguments["x-message-ttl"] = .int32(1)
            case "maxlen": arguments["x-max-length"] = .int32(1)
            case "delivery_limit":
                arguments["x-queue-type"] = .string("quorum")
                arguments["x-delivery-limit"] = .int32(1)
            default: break
            }
            try stage.client.declare(work, arguments)
            try stage.client.publish(
                (0..<2).map { index in
                    var properties = MessageProperties()
                    properties.messageID = Array("\(index)".utf8)
                    return Publication(
                        routingKey: ArraySlice(work.utf8), properties: properties, body: ArraySlice("{}".utf8))
                })
            if reason == "rejected" { try stage.client.reject(work) }
            if reason == "delivery_limit" { for _ in 0..<2 { try stage.client.abandon(work) } }
            // Both expire; without a target only the first is dead-lettered.
            let dead = reason == "expired" ? 2 : 1
            try eventually("the dead letters") { try stage.client.count(queues.dead) == dead ? true : nil }
            let list = try run("list", "--queue", queues.dead, "--json", left: dead)
            let groups = try #require(try list.object()["groups"] as? [[String: Any]])
            #expect(groups.map { $0["reason"] as? String } == [reason], "\(list.report)")
            #expect(groups.map { $0["queue"] as? String } == [work], "\(list.report)")
            let refused = try run("replay", "--queue", queues.dead, "--limit", "1", "--yes", left: dead)
            #expect(refused.exit == .exited(65) && refused.text().contains("refused     1\n"), "\(refused.report)")
            // A message that would expire again at once goes elsewhere.
            let end = try run("replay", "--queue", queues.dead, "--reason", reason, "--to", queues.target, "--json")
            #expect(try end.object()["replayed"] as? Int == dead, "\(end.report)")
            let back = try stage.client.takeAll(queues.target)
            #expect(back.count == dead)
            let headers = try #require(try MessageProperties(decoding: back[0].rawProperties).headers)
            #expect(headers["x-death"] == nil && headers["x-delivery-count"] == nil)
        }

        @Test("exported and imported messages are identical byte by byte, and a damaged archive publishes nothing")
        func archive() throws {
            let queues = try queues("quorum")
            func contents() throws -> [[UInt8]] {
                try stage.client.takeAll(queues.dead).map { Array($0.rawProperties) + $0.body }
            }
            try put(3, into: queues)
            let before = try contents()
            try put(3, into: queues)
            let file = stage.directory.file("archive.jsonl")
            let export = try run("export", "--queue", queues.dead, "--file", file, "--discard", "--json").expectExit(0)
            #expect(try export.object()["exported"] as? Int == 3)
            #expect(try contents().isEmpty)
            let none = try run("discard", "--queue", queues.dead, "--all", "--yes")
            #expect(none.text() == "discarded   0\nleft        0\n", "\(none.report)")
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let taken = try run("export", "--queue", queues.dead, "--file", file)
            #expect(taken.exit == .exited(64), "a file is not overwritten: \(taken.report)")
            let dry = try run("import", "--file", file, "--to", queues.dead, "--dry-run", "--json")
            #expect(try dry.object()["messages"] as? Int == 3 && contents().isEmpty, "\(dry.report)")
            try run("import", "--file", file, "--to", queues.dead, "--json").expectExit(0)
            #expect(try contents() == before)

            let damaged = try stage.directory.write(
                try String(contentsOfFile: file, encoding: .utf8) + "{}\n", to: "damaged.jsonl")
            let refused = try run("import", "--file", damaged, "--to", queues.dead).expectExit(65)
            #expect(refused.errors.contains("damaged.jsonl:4: the line: expected \"properties\""), "\(refused.report)")
            #expect(try contents().isEmpty, "nothing of a damaged file is published")
        }

        /// Runs a command at a terminal, and types as soon as this run asks.
        private func runAtTerminal(
            _ command: String, _ queue: String, typing keys: String, left: Int = 3
        ) throws -> ChildProcess {
            let seen = stage.directory.file("terminal")
            let start = "'\(stage.binary)' dead-letters \(command) --config '\(stage.directory.file("harebell.yaml"))'"
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    """
                    rm -f '\(seen)'
                    (until grep -q '3 of 3 messages? ' '\(seen)'; do sleep 0.05; done; printf '\(keys)') 2> /dev/null |
                        script --quiet --flush --return --command "\(start) --queue \(queue)" '\(seen)'
                    """,
                ])
            try process.waitForExit()
            try stage.client.waitUntilLeft(queue, by: process, messages: left)
            return process
        }

        @Test("at a terminal replay and discard ask; with no or Ctrl-C nothing is changed")
        func question() throws {
            let queues = try queues("classic")
            try put(3, into: queues)
            let declined = try runAtTerminal("replay", queues.dead, typing: "n\\n").expectExit(0)
            for text in ["Replay 3 of 3", "nothing was changed", "REPLAYED  TARGET"] {
                #expect(declined.text().contains(text), "\(declined.report)")
            }
            try runAtTerminal("replay", queues.dead, typing: "\\003").expectExit(128 + SIGINT)
            #expect(try numbers(queues.target).isEmpty)
            #expect(try numbers(queues.dead) == Array(0..<3))
            try put(3, into: queues)
            let confirmed = try runAtTerminal("discard --all", queues.dead, typing: "Y\\n", left: 0).expectExit(0)
            #expect(confirmed.text().contains("discarded   3"), "\(confirmed.report)")
            try put(1, into: queues, outcome: "accepted")
            let texts = ["--dry-run": "0 of 1 messages in \(queues.dead)\n", "--yes": "replayed    0\nleft        1\n"]
            for (option, text) in texts {
                let replay = try run("replay", "--queue", queues.dead, option, left: 1)
                #expect(replay.text() == text, "\(replay.report)")
                #expect(replay.errors.contains("1 stay because APNs accepted their requests"), "\(replay.report)")
            }
        }

        @Test("a wrong command line is 64, a missing queue 69")
        func usage() throws {
            for arguments in [
                ["list", "--since", "yesterday"], ["list", "--outcome", "great"], ["list", "--limit", "0"],
                ["replay", "--rate", "0"], ["discard", "--yes"],
                ["discard", "--all", "--reason", "BadTopic", "--yes"], ["discard", "--all"],
                ["replay", "--yes", "--to", stage.deadLetterQueue], ["import", "--file", stage.directory.file("none")],
            ] {
                let process = try stage.run(["dead-letters"] + arguments)
                #expect(process.exit == .exited(64), "\(arguments): \(process.report)")
            }
            let everything = try run("replay").expectExit(64)
            #expect(
                everything.errors.contains("there is no filter: --yes replays all dead letters"),
                "\(everything.report)")
            let copy = stage.directory.file("none.jsonl")
            for command in [["list"], ["replay", "--yes"], ["export", "--file", copy]] {
                let missing = try stage.run(["dead-letters"] + command + ["--queue", "\(stage.name).none"])
                #expect(missing.exit == .exited(69), "\(missing.report)")
                #expect(missing.errors.contains("no queue '\(stage.name).none'"), "\(missing.report)")
                #expect(!FileManager.default.fileExists(atPath: copy), "a failed export leaves no file")
            }
        }
    }
}
