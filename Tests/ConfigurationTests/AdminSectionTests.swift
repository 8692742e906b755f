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
        arguments: ["", "aps: []", "workers: many", "workers:\n\t1", "queues: [", "log: { level: info"])
    func errors(other: String) throws {
        try directory.write("secret\n", to: "token")
        let section = "admin:\n  listen: \"127.0.0.1:9999\"\n\n  token_file: token\n  ready: any\n"
        for text in ["\(other)\n\(section)", "\(section)\(other)\n"] {
            let admin = try #require(try admin(text), "\(text)")
            #expect(admin.listen == Endpoint(host: "127.0.0.1", port: 9999), "\(text)")
            #expect(admin.token?.reveal() == "secret", "\(text)")
        }
        let flow = try admin("admin: { listen: \"127.0.0.1:9998\" }\n\(other)\n")
        #expect(flow?.listen.port == 9998)
    }

    @Test("A file without the section has its default, and null turns it off")
    func defaults() throws {
        #expect(try admin("workers: 1\n")?.listen == Endpoint(host: "127.0.0.1", port: 9464))
        #expect(try admin("") == Configuration.Admin(listen: Endpoint(host: "127.0.0.1", port: 9464)))
        #expect(try admin("admin: null\nworkers: many\n") == nil)
    }

    @Test("An error in the section itself is reported with its place")
    func wrong() throws {
        for (text, problem) in [
            ("workers: many\nadmin: { listen: here }\n", ":2:18: admin.listen: expected a numeric address and a port"),
            ("admin: { token_file: none }\n", ":1:22: admin.token_file: cannot read "),
            ("queues: [\nadmin: [\n", "not YAML"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try admin(text) }
            #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
        }
    }
}
