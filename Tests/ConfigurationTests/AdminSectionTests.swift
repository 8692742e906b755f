import Core
import TestSupport
import Testing

@testable import Configuration

@Suite("The admin section alone")
struct AdminSectionTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func admin(_ text: String) throws -> Configuration.Admin? {
        try Configuration.Admin.load(path: directory.write(text, to: "harebell.yaml"))
    }

    @Test(
        "Errors elsewhere do not matter, not even text that is not YAML",
        arguments: [
            "", "aps: []", "workers: many", "workers:\n\t1", "queues: [1", "\"queues\": [1", "log: { level: info", "}",
            "<<<<<<< HEAD", "---\nworkers: 1\n---", "# caf\u{E9}",
        ], ["\n", "\r\n"])
    func errors(other: String, lineEnd: String) throws {
        try directory.write("secret\n", to: "token")
        let values = ["listen: \"127.0.0.1:9999\"", "token_file: token", "ready: any"]
        let block = "\n  " + values.joined(separator: "\n\n  ") + "\n"
        let pairs = values.joined(separator: ", ")
        for section in ["admin:" + block, "\"admin\":" + block, "admin : { \(pairs) }\n", "admin: {\n  \(pairs)\n}\n"] {
            for text in ["\(other)\n\(section)", "\(section)\(other)\n"] {
                let latin1 = text.replacing("\n", with: lineEnd).unicodeScalars.map { UInt8($0.value) }
                let file = try directory.write(latin1, to: "harebell.yaml")
                let admin = try #require(try Configuration.Admin.load(path: file), "\(text)")
                #expect(admin.listen == Endpoint(host: "127.0.0.1", port: 9999), "\(text)")
                #expect(admin.token?.reveal() == "secret", "\(text)")
            }
        }
    }

    @Test("A file without the section has its default, and null turns it off")
    func defaults() throws {
        for text in ["workers: 1\n", "# admin: { listen: here }\nbroker: { endpoints: [\"amqp://admin:a@b\"]\n"] {
            #expect(try admin(text)?.listen == Endpoint(host: "127.0.0.1", port: 9464))
        }
        #expect(try admin("") == Configuration.Admin(listen: Endpoint(host: "127.0.0.1", port: 9464)))
        #expect(try admin("admin: { listen: \"localhost:9999\" }\n")?.listen == Endpoint(host: "127.0.0.1", port: 9999))
        #expect(try admin("admin: null\nworkers: many\n") == nil)
        let json = "{\n  \"admin\": {\n    \"listen\": \"127.0.0.1:9998\"\n  },\n  \"apps\": [ }\n"
        #expect(try admin(json)?.listen.port == 9998)
    }

    @Test("An error in the section itself is reported with its place")
    func wrong() throws {
        for (text, problem) in [
            ("workers: many\nadmin: { listen: here }\n", ":2:18: admin.listen: expected a numeric address and a port"),
            ("admin: { token_file: none }\n", ":1:22: admin.token_file: cannot read "),
            ("admin: { token_file: /proc/version }\n", ":1:22: admin.token_file: expected one line of ASCII "),
            ("queues: [\nadmin: [\n", "not YAML"),
            ("{ \"admin\": { listen: \"127.0.0.1:9998\" }, queues: [1\n", "not YAML"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try admin(text) }
            #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
        }
    }
}
