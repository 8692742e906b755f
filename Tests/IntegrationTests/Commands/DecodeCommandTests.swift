import Foundation
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell decode")
    struct DecodeCommandTests {
        private let directory: TemporaryDirectory
        private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

        init() throws {
            directory = try TemporaryDirectory()
            try directory.write(
                """
                apps: [{ topic: com.example.app, token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ } }]
                decoders:
                  - name: orders
                    mapping: { device-token: "header:to", apns-priority: "header:p",
                               payload: '{"aps":{"badge":{/n}},"b":{header:b}}' }
                """, to: "harebell.yaml")
        }

        private func run(_ body: String, _ options: [String]) throws -> ChildProcess {
            try .harebell(["decode", "--file", try directory.write(body, to: "body")] + options)
        }

        @Test("It shows a message's notification with its original payload")
        func shows() throws {
            let configuration = directory.path + "/harebell.yaml"
            let process = try run(
                #"{"n":1.50}"#,
                [
                    "--config", configuration, "--decoder", "orders", "--header", "to=\(Self.token)", "--header",
                    "p:=5", "--header", "b:=true", "--property", "message-id=m1", "--json",
                ])
            #expect(process.exit == .exited(0))
            #expect(process.text().contains(#""payload":{"aps":{"badge":1.50},"b":true}"#))
            let response = try process.object()
            let head = ["decoder", "answer", "version"].map { response[$0] as? String }
            #expect(head == ["orders", "request", "1.0.0"], "\(process.report)")
            let notification = try #require((response["notifications"] as? [[String: Any]])?.first)
            #expect(notification["device-token"] as? String == Self.token)
            #expect(notification["apns-priority"] as? Int == 5)
            #expect((notification["apns-id"] as? String)?.count == 36)
        }

        @Test("A device that would be refused, or an unreadable body, ends it with 65", arguments: ["", "\"abcd\","])
        func refusedDevice(others: String) throws {
            let process = try run(
                #"{"device-tokens":[\#(others)"zz"],"apns-topic":"x.y","payload":{"aps":{"badge":1}}}"#, [])
            #expect(process.exit == .exited(65) && process.text().contains("device-tokens["), "\(process.report)")
            let unreadable = try run("{}", ["--json", "--property", "content-encoding=br"]).expectExit(65)
            #expect(try unreadable.object()["answer"] as? String == "reject", "\(unreadable.report)")
        }

        @Test("The app is the one that a worker would choose, and 65 if it would choose none")
        func app() throws {
            let body = #"{"device-token":"\#(Self.token)","apns-push-type":"voip","payload":{"aps":{}}}"#
            let configuration = ["--config", directory.path + "/harebell.yaml"]
            let soon = Int(Date().timeIntervalSince1970) + 86_400
            let resolved = try run(body.dropLast() + ",\"not-before\":\(soon)}", configuration).expectExit(0)
            #expect(resolved.text().hasPrefix("not-before: \(soon)\n"), "\(resolved.report)")
            #expect(resolved.text().contains(#/\n  apns-topic +com.example.app.voip\n/#), "\(resolved.report)")
            #expect(resolved.text().contains(#/\n  environment +production\n/#), "\(resolved.report)")
            #expect(try !run(body, []).text().contains("apns-topic"))
            for (member, complaint) in [
                (#""apns-topic":"org.other""#, #"apns-topic: no app "org.other" is configured"#),
                (#""environment":"development""#, "environment: no app is configured for development"),
                (#""not-before":9999999999"#, "not-before: more than 30 days ahead"),
            ] {
                let refused = try run(body.dropLast() + ",\(member)}", configuration).expectExit(65)
                #expect(refused.text().hasPrefix("invalid: \(complaint)\n"), "\(refused.report)")
                let json = try run(body.dropLast() + ",\(member)}", configuration + ["--json"])
                #expect(try json.object()["detail"] as? String == complaint, "\(json.report)")
            }
            let both = try run(body.dropLast() + #","apns-topic":"org.other","apns-priority":7}"#, configuration)
            let complaint = #"reject: apns-topic: no app "org.other" is configured; apns-priority: "#
            #expect(both.text().hasPrefix(complaint), "\(both.report)")
        }

        @Test("Options without a meaning end it with 64")
        func usage() throws {
            for options in [
                ["--decoder", "gorsh"], ["--decoder", "mapping"], ["--property", "colour=red"], ["--header", "x"],
                ["--header", "x:=y"],
            ] {
                #expect(try run("{}", options).exit == .exited(64), "\(options)")
            }
            let exits = try [262_144, 262_145].map { try run(String(repeating: "x", count: $0), []).exit }
            #expect(exits == [.exited(65), .exited(64)], "the largest message")
        }
    }
}
