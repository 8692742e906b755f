import Core
import Testing

@testable import Operations
@testable import Configuration
@testable import Decoding
@testable import Pipeline
@testable import Settings

/// Its options are all existing kinds, which it reports when it ignores a message.
private struct EchoDecoder: Decoder {
    let name = "echo"
    let text: String

    init(_ options: inout DecoderOptions) {
        let texts = (options.texts("texts") ?? []).joined(separator: "+")
        let integers = (options.integers("integers") ?? []).map(String.init).joined(separator: "+")
        let inner = options.decoder("decoder").name
        text = [
            options.text("text") ?? "-", options.text("choice") ?? "-", "\(options.integer("integer") ?? -1)",
            "\(options.boolean("boolean"))", texts, integers, inner,
        ].joined(separator: " ")
        if options.text("text") == "wrong" { options.report("text", "is wrong") }
    }

    func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        .ignore(reason: text)
    }

    static let format = DecoderFormat(
        "echo", version: "2.1.0", "Says its options.",
        [
            .text("text", default: .value("a \"b\" ${C}"), "Text."),
            .choice("choice", ["one", "two"], default: .none, "Choice."),
            .integer("integer", 1...9, "Integer."),
            .boolean("boolean", default: .value(true), "Boolean."),
            .texts("texts", count: 0...3, default: .value(["x", "y: z"]), "Texts."),
            .integers("integers", 0...9, count: 0...3, default: .value([1, 2]), "Integers."),
            .text("decoder", default: .value("apns-headers"), "Decoder."),
        ]
    ) { options in EchoDecoder(&options) }
}

private func conflict(_ formats: DecoderFormat...) -> String? {
    do throws(DecoderRegistry.Conflict) {
        _ = try DecoderRegistry.builtIn.adding(formats)
        return nil
    } catch {
        return error.description
    }
}

private func format(_ name: String, _ options: [Setting] = []) -> DecoderFormat {
    DecoderFormat(name, version: "1.0.0", "None.", options) { _ in APNsJSONDecoder() }
}

private func document(_ decoders: String, _ registry: DecoderRegistry) throws(ConfigurationError)
    -> ConfigurationDocument
{
    try ConfigurationDocument(
        text: """
            queues: [{ name: q, decoder: echo }]
            apps: [{ topic: com.example.app, token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ } }]
            decoders:
            \(decoders)
            """, file: "f", registry, environment: { _ in nil },
        readFile: { _ throws(ConfigurationFiles.Failure) in throw .init(message: "no secrets here") })
}

/// Formats that a program adds to the built-in ones.
struct DecoderRegistryTests {
    private let registry: DecoderRegistry

    init() throws {
        registry = try DecoderRegistry.builtIn.adding([EchoDecoder.format])
    }

    private func response(_ decoders: String) throws -> (text: String, version: String?) {
        let configuration = try document(decoders, registry).configuration
        let delivery = OneOffDelivery(body: []).delivery
        let preview = try DecodingPreview(
            delivery, by: .init(decoder: "echo", DecoderSet(configuration), queue: "q"), at: DecoderSample.now,
            process: { _ in .ignore(reason: "") })
        guard case .ignore(let reason) = preview.decoded else { return ("", nil) }
        return (reason, preview.version)
    }

    @Test func `a format that was added reads its options and their defaults`() throws {
        let response = try response("  - { name: echo, echo: { integer: 7 } }")
        #expect(response.text == "a \"b\" ${C} - 7 true x+y: z 1+2 apns-headers")
        #expect(response.version == "2.1.0")
    }

    @Test func `a format that was added reads what the configuration gives`() throws {
        let response = try response(
            "  - { name: echo, echo: { text: t, choice: two, integer: 1, boolean: false, "
                + "texts: [], integers: [9], decoder: apns-json } }"
        )
        #expect(response.text == "t two 1 false  9 apns-json")
    }

    @Test func `workers and dead letters know a format that was added`() throws {
        let configuration = try document("  - { name: echo, echo: { integer: 7 } }", registry).configuration
        #expect(PipelineSettings(configuration, worker: "w").queues.map(\.decoder.name) == ["echo"])
        #expect(RequestReader(configuration).request(of: OneOffDelivery(body: []).delivery, from: "q") == nil)
    }

    @Test(arguments: [
        ("{ integer: 10 }", "f:4:36: decoders[0].echo.integer: 10 is out of range; expected 1 to 9"),
        ("{ integer: 1, text: wrong }", "f:4:45: decoders[0].echo.text: is wrong"),
        ("{ }", "f:4:25: decoders[0].echo.integer is missing: Integer."),
        ("{ integer: 1, integr: 1 }", "f:4:39: unknown key \"integr\" in decoders[0].echo; did you mean \"integer\"?"),
    ]) func `a wrong option of a format that was added is told with its place`(options: String, problem: String) {
        do throws(ConfigurationError) {
            _ = try document("  - { name: echo, echo: \(options) }", registry)
            Issue.record("it was taken")
        } catch {
            #expect(error.problems.map(\.description).contains(problem), "\(error)")
        }
    }

    @Test func `the reference lists the options of a format that was added behind ours`() {
        let paths = registry.schema.settings.map(\.path)
        let ours = DecoderRegistry.builtIn.schema.settings.map(\.path)
        #expect(!ours.contains("decoders[].echo"))
        #expect(paths.filter { !ours.contains($0) }.count == EchoDecoder.format.settings.count + 1)
        #expect(ConfigurationReference(registry.schema).text.contains("decoders[].echo.integer\n    integer, required"))
    }

    @Test func `a format that was not added is unknown`() throws {
        #expect(throws: ConfigurationError.self) {
            try document("  - { name: echo, echo: { integer: 7 } }", .builtIn)
        }
    }

    @Test func `no two formats have one name`() {
        #expect(conflict(format("apns-headers")) == "two formats are called \"apns-headers\"")
        #expect(conflict(format("a"), format("a")) == "two formats are called \"a\"")
        #expect(conflict(format("a"), format("b")) == nil)
    }

    @Test(arguments: ["", "Orders", "a.b", "a b", "name", String(repeating: "a", count: 65)])
    func `a format has a name that can be a key`(name: String) {
        #expect(conflict(format(name))?.hasPrefix("the format \"\(name)\" needs another name") == true)
    }

    @Test(arguments: ["", "Topic", "a.b", "a[]"]) func `an option has a name that can be a key`(name: String) {
        #expect(
            conflict(format("a", [.boolean(name, "B.")]))?.hasPrefix("the option \"\(name)\" of the format \"a\"")
                == true)
    }

    @Test func `no two options of a format have one name`() {
        #expect(conflict(format("a", [.boolean("b", "B."), .boolean("b", "B.")])) != nil)
    }

    @Test(arguments: [
        Setting.text("o", bytes: 1...3, default: .value("long"), "O."),
        Setting.integer("o", 1...3, default: .value(4), "O."),
        Setting.choice("o", ["a"], default: .value("b"), "O."),
        Setting.texts("o", count: 0...1, default: .value(["a", "b"]), "O."),
        Setting.integers("o", 0...1, count: 0...1, default: .value([2]), "O."),
    ]) func `an option takes its own default`(option: Setting) {
        #expect(
            conflict(format("a", [option]))?.hasPrefix("an option of the format \"a\" has a wrong default: o") == true)
    }
}
