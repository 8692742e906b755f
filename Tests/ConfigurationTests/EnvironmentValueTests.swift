import Core
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Configuration
@testable import Runtime

/// Each configuration key in turn takes its value from the environment.
@Suite("Values from the environment")
struct EnvironmentValueTests {
    private static let secret = "S3CRET"
    private static let number = "48151623"
    private static let token = ["key_file": "none.p8", "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ"]

    /// Values that are valid for some keys and invalid for others, each in a different way.
    private static let words = [
        secret, "amq.\(secret)", "/nowhere/\(secret)", "amqp://u:p@\(secret):99999", "amqps://u:p@\(secret)/",
        "https://\(secret).example:0x1", "http://u:p@\(secret):1", "none\(secret)", "\(secret).voip",
        "\(secret).pushkit.fileprovider", "header:\(secret)", "property:\(secret)", "/\(secret)~2", "{/\(secret)",
        "{property:\(secret)}", "127.0.0.1:\(secret)", "{\"\(secret)\": 1}", "\(secret)=1", "celery\(secret)",
        "zz\(String(repeating: secret, count: 40))", "\(number)", "2342", "1",
    ]

    private static var settings: [Setting] {
        Schema.settings.filter { setting in
            switch setting.kind {
            case .section, .list(.section, _): false
            default: true
            }
        }
    }

    /// A configuration with everything that the schema requires around one key.
    private static func text(_ setting: Setting, _ value: String) throws -> String {
        var root: [String: Any] = ["workers": 1]
        fill(&root, "", ArraySlice(setting.path.split(separator: ".").map(String.init)), setting, value)
        if root["apps"] == nil {
            root["apps"] = [["topic": "com.example.app", "token": token] as [String: Any]]
        }
        return String(decoding: try JSONSerialization.data(withJSONObject: root, options: .sortedKeys), as: UTF8.self)
    }

    /// Sets the key below a section, with what the section requires.
    private static func fill(
        _ section: inout [String: Any], _ path: String, _ rest: ArraySlice<String>, _ setting: Setting, _ value: String
    ) {
        guard let part = rest.first else { return }
        let name = part.replacing("[]", with: "")
        for sibling in Schema.children[path] ?? []
        where sibling.defaultValue == nil && sibling.key != name {
            section[sibling.key] = sample(of: sibling)
        }
        if path == "apps[]", name != "token", name != "certificate" { section["token"] = token }
        guard rest.count > 1 else {
            switch setting.kind {
            case .list: section[name] = [value]
            default: section[name] = value
            }
            return
        }
        var inner: [String: Any] = [:]
        fill(&inner, path.isEmpty ? part : "\(path).\(part)", rest.dropFirst(), setting, value)
        section[name] = part.hasSuffix("[]") ? [inner] : inner
    }

    private static func sample(of setting: Setting) -> Any {
        switch setting.kind {
        case .text, .file: "sample"
        case .integer(let range): range.lowerBound
        case .number(let range): range.lowerBound
        case .boolean: true
        case .choice(let names): names[0]
        case .list(.text, _): ["sample"]
        case .list(.integer(let range), _): [range.lowerBound]
        case .section: [String: Any]()
        case .list: [[String: Any]]()
        }
    }

    /// All output of a process with this configuration: problems, reports, and the startup error.
    private static func words(_ text: String, environment: String) throws -> [String] {
        let folder = try TemporaryDirectory()
        let file = folder.file("harebell.yaml")
        do throws(ConfigurationError) {
            let document = try ConfigurationDocument(
                content: Array(text.utf8), file: file, environment: { $0 == "SEK" ? environment : nil },
                readFile: ConfigurationFiles.read)
            let found = document.inspect(now: WallTime(milliseconds: 1_795_300_000_000))
            var words = found.problems.map(\.description)
            for app in found.apps { words.append("\(app.topic) \(app.environment) \(app.credential)") }
            do {
                _ = try AppPlan(document.configuration)
            } catch {
                words.append("\(error)")
            }
            return words
        } catch {
            return error.inspect(now: WallTime(milliseconds: 1_795_300_000_000)).problems.map(\.description)
        }
    }

    @Test("For any key with a value from the environment, no message shows the value", arguments: settings.map(\.path))
    func hidden(path: String) throws {
        let setting = try #require(Self.settings.first { $0.path == path })
        var complaints = 0
        for word in Self.words {
            let said = try Self.words(Self.text(setting, "${SEK}"), environment: word)
            complaints += said.count
            for line in said {
                #expect(!line.contains(Self.secret) && !line.contains(Self.number), "\(word): \(line)")
            }
        }
        // A key for which no value is wrong would prove nothing.
        #expect(complaints > 0)
    }

    @Test("A message shows the value as written in the file")
    func shown() throws {
        func first(_ text: String, _ value: String = "/nowhere/\(Self.secret)") throws -> String {
            try #require(try Self.words(text, environment: value).first).split(separator: ":").dropFirst(3)
                .joined(separator: ":")
        }
        let app = "apps: [{ topic: a, token: { key_file: \"${SEK}\", key_id: ABC123DEFG, team_id: DEF123GHIJ } }]\n"
        #expect(
            try first(app)
                == " apps[0].token.key_file: cannot read the signing key file ${SEK}: No such file or directory")
        #expect(
            try first("broker: { password_file: \"/run/${SEK}\" }\n" + app)
                == " broker.password_file: cannot read /run/${SEK}: No such file or directory")
        for text in [
            "queues: [{ name: a, decoder: \"${SEK}\" }]\n",
            "decoders: [{ name: a, cloudevents: { decoder: \"${SEK}\" } }]\n",
        ] {
            #expect(try first(text + app, "gorsh").contains(": \"${SEK}\" is not valid; "))
        }
        #expect(
            try first("log: { level: \"${SEK}\" }\n" + app, "debugg").hasPrefix(
                " log.level: \"${SEK}\" is not one of "))
        #expect(try !first("log: { level: \"${SEK}\" }\n" + app, "debugg").contains("did you mean"))
        let named =
            "queues: [{ name: a, decoder: nearly }]\n"
            + "decoders: [{ name: \"${SEK}\", mapping: { device-token: /t, payload: body } }]\n"
        let list = "decoders: [{ name: a, mapping: { device-token: \"${SEK}\", payload: body, only_if: [/t] } }]\n"
        for (text, word, key) in [(named, "nearby", "queues[0].decoder"), (list, "/t", "decoders[0].mapping.only_if")] {
            #expect(try first(text + app, word) == " \(key): not valid; values from the environment are not shown")
        }
        let folder = try TemporaryDirectory()
        #expect(unsafe chmod(try folder.write("", to: "program"), 0o777) == 0)
        #expect(
            try first("decoders: [{ name: a, process: { command: [\"${SEK}\"] } }]\n" + app, folder.file("program"))
                == " decoders[0].process.command[0]: users other than its owner can change ${SEK}: chmod go-w ${SEK}")
    }
}
