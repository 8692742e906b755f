import Testing

@testable import Configuration

@Suite("Mistakes that are likely in a configuration file")
struct LikelyMistakesTests {
    private static let app =
        "topic: com.example.app, token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ }"

    private static func load(_ text: String) throws(ConfigurationError) -> ConfigurationDocument {
        try ConfigurationDocument(
            text: text, file: "f", environment: { _ in nil },
            readFile: { _ throws(ConfigurationFiles.Failure) in throw .init(message: "no secrets here") })
    }

    @Test(
        "The message names the mistake and the remedy",
        arguments: [
            ("queues:\n\t- name: a\napps: [{ \(app) }]\n", "the line has a tab: indent with spaces"),
            ("queues:\n  - push.requests\napps: [{ \(app) }]\n", "; write - name: \"push.requests\""),
            ("apps: [{ \(app), environment: sandbox }]\n", "did you mean \"development\"?"),
            ("apps: [{ \(app), environment: prod }]\n", "did you mean \"production\"?"),
            (
                "broker: { endpoints: [\"amqp://a:b#c@127.0.0.1:5672/\"] }\napps: [{ \(app) }]\n",
                "; write # in a user's name or password as %23"
            ),
        ])
    func messages(text: String, part: String) {
        do throws(ConfigurationError) {
            _ = try Self.load(text)
            Issue.record("expected a refusal")
        } catch {
            #expect(error.message.contains(part), "\(error.message)")
        }
    }

    @Test("A renamed key is accepted under its old name, with a warning that names the new one")
    func renamed() throws {
        let document = try Self.load("broker: { maximum_message_bytes: 9000 }\napps: [{ \(Self.app) }]\n")
        #expect(document.configuration.broker.maximumMessage == 9000)
        #expect(
            document.warnings.map(\.description).contains {
                $0.contains("broker.maximum_message_bytes is now max_message_bytes")
            })
    }
}
