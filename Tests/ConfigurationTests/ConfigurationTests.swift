import Core
import Foundation
import Logging
import System
import TestSupport
import Testing

@testable import Configuration
@testable import Decoding

/// Every format, as messages list them.
private let formats = DecoderFormat.allCases.map(\.rawValue).joined(separator: ", ")

private let app = oneApp

/// As much of a value as a message shows.
private let shown = String(repeating: "x", count: 40)

@Suite("Configuration")
struct ConfigurationTests {
    @Suite("Defaults")
    struct Defaults {
        @Test("One app is enough, and every other key has the documented default")
        func oneApp() throws {
            let found = try configuration(app)
            #expect(found.broker.endpoints.map { $0.reveal() } == ["amqp://guest:guest@127.0.0.1:5672/%2f"])
            #expect(found.broker.heartbeat == .seconds(15))
            #expect(found.queues == [Configuration.Queue(name: "push.requests", decoder: "auto", prefetch: 1000)])
            #expect(found.results.route == nil && found.feedback == nil)
            #expect(found.deadLetter == Configuration.Route(exchange: "", routingKey: "push.dead"))
            #expect(found.retry.delays == [.seconds(900), .seconds(1800), .seconds(3600)])
            #expect(found.retry.throttledDelays == [.seconds(5), .seconds(30), .seconds(120)])
            #expect(found.retry.maximumAttempts == 6 && found.apns.connections == 1...8)
            #expect(found.apns.permitsPerSecond == 4000 && found.apns.burst == 500)
            #expect(found.apns.requestTimeout == .seconds(30) && found.apns.pingIdle == .seconds(3600))
            #expect(found.apns.badTokenPause == TokenRefusalShare.Limit())
            #expect(found.workers == 1 && found.drainDeadline == .seconds(30))
            #expect(found.admin?.listen == Endpoint(host: "127.0.0.1", port: 9464))
            #expect(found.admin?.token == nil && found.admin?.readyWhen == .any)
            #expect(found.log == Configuration.Log(level: .info, format: .text, showPayloads: false))
            #expect(found.tracing == nil && found.apps.count == 1)
            #expect(found.apps[0].endpoint == Endpoint(host: "api.push.apple.com", port: 443))
            #expect(
                found.apps[0].credential
                    == .token(keyFile: "AuthKey.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
        }

        @Test("A file without an app is reported as such")
        func empty() {
            let expected = ["harebell.yaml:1:1: apps is missing: The apps, with one credential each."]
            #expect(errors("") == expected && errors("# nothing but a comment\n") == expected)
            #expect(errors("apps: []") == ["harebell.yaml:1:7: apps has 0 elements; expected 1 to 1000"])
            let misspelt = errors(app.replacing("apps:", with: "app:"))
            #expect(misspelt == ["harebell.yaml:1:1: unknown key \"app\"; did you mean \"apps\"?"])
        }

        @Test("Sections have defaults; results, feedback and tracing are enabled once their section has a key")
        func sections() throws {
            let found = try configuration("broker:\nresults: { publish: failures }\nfeedback: { exchange: e }\n" + app)
            #expect(found.broker.heartbeat == .seconds(15))
            #expect(found.results.route == Configuration.Route(exchange: "", routingKey: "push.results"))
            #expect(found.results.publish == .failures && found.results.per == .notification)
            #expect(found.feedback == Configuration.Route(exchange: "e", routingKey: "push.feedback"))
            let tracing = try configuration("tracing: { endpoint: http://collector }\n" + app).tracing
            #expect(tracing?.endpoint.port == 4318 && tracing?.usesTLS == false && tracing?.sampleRatio == 1)
        }

        @Test("null turns results, feedback and the admin server off")
        func off() throws {
            let whole = try configuration("results: null\nfeedback: null\nadmin: null\n" + app)
            let parts = try configuration(
                "results: { routing_key: null }\nfeedback: { routing_key: ~ }\nadmin: { listen: null }\n" + app)
            for found in [whole, parts] {
                #expect(found.results.route == nil && found.feedback == nil && found.admin == nil)
            }
        }

        @Test("Every key of the schema is unique, and has a section and a sentence")
        func schema() {
            #expect(Set(Schema.settings.map(\.path)).count == Schema.settings.count)
            for setting in Schema.settings where !setting.parent.isEmpty {
                #expect(
                    Schema.settings.contains { [$0.path, $0.path + "[]"].contains(setting.parent) },
                    "\(setting.path) has a section")
            }
            for setting in Schema.settings { #expect(setting.summary.hasSuffix("."), "\(setting.path) has a sentence") }
        }

        @Test("The shipped example configurations are valid")
        func examples() throws {
            let folder = TestEnvironment.repository + "/config"
            let minimal = try ConfigurationDocument.load(path: folder + "/minimal.yaml")
            #expect(minimal.warnings.isEmpty)
            let content = try ConfigurationFiles.read(folder + "/harebell.example.yaml")
            let example = try document(
                String(decoding: content, as: UTF8.self), environment: ["RABBITMQ_PASSWORD": "guest"])
            #expect(example.warnings.isEmpty)
            var expected = minimal.configuration
            expected.apps = example.configuration.apps
            expected.decoders = example.configuration.decoders
            // The only sections that are off when missing, and have defaults when present.
            expected.results = Configuration.Results(
                route: Configuration.Route(exchange: "", routingKey: "push.results"), publish: .all)
            expected.feedback = Configuration.Route(exchange: "", routingKey: "push.feedback")
            #expect(example.configuration == expected)
            for setting in Schema.settings where !setting.path.hasPrefix("apps[].certificate.p") {
                let key = setting.key + ":"
                #expect(String(decoding: content, as: UTF8.self).contains(key), "\(setting.path) is in the example")
            }
        }
    }

    @Suite("Values")
    struct Values {
        @Test("Every key is read")
        func everything() throws {
            let found = try configuration(
                """
                broker:
                  endpoints: ["amqps://a:b@one/", "amqps://a:b@two:5673/x"]
                  tls: { ca_file: ca.pem, certificate_file: c.pem, private_key_file: /k.pem, server_name: rabbit }
                  heartbeat_seconds: 20
                  max_message_bytes: 10000
                queues:
                  - { name: a, decoder: apns-json, prefetch: 7 }
                  - { name: b, decoder: apns-headers, single_active_consumer: true, consumer_priority: -5 }
                results: { exchange: x, routing_key: "", publish: failures, per: request }
                feedback: { exchange: y, routing_key: z }
                dead_letter: { exchange: d, routing_key: e }
                retry: { delays_seconds: [1], throttled_delays_seconds: [2, 3], max_attempts: 9 }
                apns:
                  connections: { min: 2, max: 3 }
                  rate_limit: { per_second: 10, burst: 20 }
                  request_timeout_seconds: 4
                  ping_idle_seconds: 60
                  proxy: http://proxy:3128
                  bad_token_pause: false
                apps:
                  - topic: com.example.app
                    environment: development
                    endpoint: https://[::1]:8443
                    ca_file: apple.pem
                    certificate: { certificate_file: legacy.pem, private_key_file: legacy.key }
                  - topic: com.example.app
                    endpoint: https://localhost/
                    certificate: { p12_file: both.p12 }
                workers: 2
                drain_deadline_seconds: 5
                admin: { listen: "[::1]:0", ready_when: all }
                tracing: { endpoint: "HTTPS://collector.example:4319/", sample_ratio: 0.25 }
                log: { level: debug, format: json, show_payloads: true }
                """)
            #expect(
                found.broker.tls
                    == Configuration.TLSFiles(
                        caFile: "ca.pem", certificateFile: "c.pem", privateKeyFile: "/k.pem", serverName: "rabbit"))
            #expect(found.broker.heartbeat == .seconds(20) && found.broker.maximumMessage == 10000)
            #expect(found.queues.map(\.name) == ["a", "b"] && found.queues.map(\.prefetch) == [7, 1000])
            #expect(found.queues.map(\.decoder) == ["apns-json", "apns-headers"])
            #expect(found.queues.map(\.isSingleActive) == [false, true] && found.queues[0].consumerPriority == nil)
            #expect(found.queues[1].consumerPriority == -5 && found.broker.endpoints.count == 2)
            #expect(found.results.route == Configuration.Route(exchange: "x", routingKey: ""))
            #expect(found.results.publish == .failures && found.results.per == .request)
            #expect(found.feedback == Configuration.Route(exchange: "y", routingKey: "z"))
            #expect(found.deadLetter == Configuration.Route(exchange: "d", routingKey: "e"))
            #expect(found.retry.delays == [.seconds(1)] && found.retry.throttledDelays == [.seconds(2), .seconds(3)])
            #expect(found.retry.maximumAttempts == 9 && found.apns.connections == 2...3)
            #expect(found.apns.permitsPerSecond == 10 && found.apns.burst == 20 && found.apns.badTokenPause == nil)
            #expect(found.apns.requestTimeout == .seconds(4) && found.apns.pingIdle == .seconds(60))
            #expect(found.apns.proxy?.endpoint == Endpoint(host: "proxy", port: 3128))
            #expect(
                found.apps.map(\.environment) == [.development, .production] && found.apps[0].caFile == "apple.pem")
            #expect(
                found.apps.map(\.endpoint)
                    == [Endpoint(host: "::1", port: 8443), Endpoint(host: "localhost", port: 443)])
            #expect(found.apps[0].credential == .pem(certificateFile: "legacy.pem", privateKeyFile: "legacy.key"))
            #expect(found.apps[1].credential == .p12(file: "both.p12", password: nil))
            #expect(found.workers == 2 && found.drainDeadline == .seconds(5))
            #expect(found.admin?.listen == Endpoint(host: "::1", port: 0) && found.admin?.readyWhen == .all)
            #expect(
                found.tracing
                    == Configuration.Tracing(
                        endpoint: Endpoint(host: "collector.example", port: 4319), usesTLS: true, sampleRatio: 0.25))
            #expect(found.log == Configuration.Log(level: .debug, format: .json, showPayloads: true))
        }

        @Test("The rate limit of a queue is read, or off", arguments: ["", ", rate_limit: null", ", rate_limit: ~"])
        func rateLimit(off: String) throws {
            let line = "queues: [{ name: a, rate_limit: { per_second: 50, burst: 10 } }, { name: b\(off) }]\n"
            let expected = Configuration.RateLimit(perSecond: 50, burst: 10)
            #expect(try configuration(line + app).queues.map(\.rateLimit) == [expected, nil])
        }

        @Test("A renamed key is accepted under its old name, with a warning that names the new one")
        func renamed() throws {
            let found = try document("broker: { maximum_message_bytes: 9000 }\n" + app)
            #expect(found.configuration.broker.maximumMessage == 9000)
            #expect(
                found.warnings.map(\.description).contains {
                    $0.contains("broker.maximum_message_bytes is now max_message_bytes")
                })
            let small = errors("broker: { maximum_message_bytes: 5 }\n" + app)
            #expect(small.contains { $0.hasPrefix("harebell.yaml:1:34: broker.max_message_bytes: 5 is out of") })
            let both = errors("broker: { max_message_bytes: 10000, maximum_message_bytes: 9000 }\n" + app)
            #expect(both == ["harebell.yaml:1:37: broker.maximum_message_bytes and max_message_bytes are both given"])
        }

        @Test("Environment variables fill in strings, numbers and parts of them")
        func environment() throws {
            let found = try document(
                """
                broker: { endpoints: ["amqp://guest:${SECRET}@${HOST}/%2f"] }
                queues: [{ name: "a$${b}$c", prefetch: "${PREFETCH}" }]
                workers: ${WORKERS}

                """ + app,
                environment: ["SECRET": "s$${e", "HOST": "rabbit", "WORKERS": "3", "PREFETCH": "20"]
            ).configuration
            #expect(found.broker.endpoints.map { $0.reveal() } == ["amqp://guest:s$${e@rabbit/%2f"])
            #expect(found.queues[0].name == "a${b}$c")
            #expect(found.queues[0].prefetch == 20 && found.workers == 3)
        }

        @Test("A default replaces a variable that is unset or empty, and no other")
        func environmentDefaults() throws {
            let found = try document(
                """
                broker: { endpoints: ["amqp://${USER:-guest}:${SECRET:-}@${HOST:-rabbit:5672}/${A:-}${B:-x:-y$}"] }
                workers: ${WORKERS:-4}

                """ + app, environment: ["USER": "ada", "HOST": "", "A": "v"]
            ).configuration
            #expect(found.broker.endpoints.map { $0.reveal() } == ["amqp://ada:@rabbit:5672/vx:-y$"])
            #expect(found.workers == 4)
            #expect(throws: ConfigurationError.self) { try document("workers: ${:-4}\n" + app) }
            #expect(throws: ConfigurationError.self) { try document("workers: ${N:-many}\n" + app) }
            #expect(errors("queues: [{ name: \"${N:-${M:-a}}\" }]\n" + app).count == 1)
        }

        @Test("Secrets are read from files, without the final line end; a relative path starts at the file's folder")
        func secretFiles() throws {
            let found = try document(
                """
                broker: { password_file: secrets/rabbit }
                admin: { token_file: /run/admin }
                apps:
                  - topic: com.example.app
                    certificate: { p12_file: a.p12, password_file: p12 }
                """, file: "/etc/harebell.yaml",
                files: ["/etc/secrets/rabbit": "p@ss\n", "/run/admin": "bearer\r\n", "/etc/p12": "  x "]
            ).configuration
            #expect(found.broker.password?.reveal() == "p@ss" && found.admin?.token?.reveal() == "bearer")
            #expect(found.apps[0].credential == .p12(file: "/etc/a.p12", password: Secret("  x ")))
        }
    }

    @Suite("Problems")
    struct Problems {
        private static let token = "token: { key_file: a, key_id: ABC123DEFG, team_id: DEF123GHIJ }"

        @Test("No key is listed as removed or renamed while it exists")
        func listed() {
            let paths = Set(Schema.settings.map(\.path))
            #expect(paths.isDisjoint(with: Schema.removed.keys))
            #expect(paths.isDisjoint(with: Schema.renamed.keys))
        }

        private static let wrongKeysOrTypes = cases(
            """
            broker: { hartbeat_seconds: 3 } → \
                1:11: unknown key "hartbeat_seconds" in broker; did you mean "heartbeat_seconds"?
            quue: [{ name: a }] → 1:1: unknown key "quue"; did you mean "queues"?
            apsp: 3 → 1:1: unknown key "apsp"; did you mean "apps"?
            decoders: [{ name: a, maping: { device-token: /t, payload: body } }] → \
                1:23: unknown key "maping" in decoders[0]; did you mean "mapping"?
            queues: [{ name: a, preFetch: 3 }] → 1:21: unknown key "preFetch" in queues[0]; did you mean "prefetch"?
            ping_idle_seconds: 3 → 1:1: unknown key "ping_idle_seconds"; did you mean apns.ping_idle_seconds?
            zzz: 3 → 1:1: unknown key "zzz"
            <<: {} → 1:1: unknown key "<<"; merge keys are not supported: repeat the keys
            queues: [{ name: a }, { name: b, result_format: c }] → \
                1:34: queues[1].result_format was removed; results are always Harebell's JSON
            broker: { amqp://u:secret@a } → 1:11: unknown key "…" in broker
            broker: { [a]: 1 } → 1:11: expected a key, found a list
            // A prefix of one key, and of several.
            drain: 3 → 1:1: unknown key "drain"; did you mean "drain_deadline_seconds"?
            re: 3 → 1:1: unknown key "re"
            workers: many → 1:10: workers: expected an integer, found text
            workers: "2" → 1:10: workers: expected an integer, found text
            workers: 2.5 → 1:10: workers: expected an integer, found a number with a fraction
            workers: 0x10 → 1:10: workers: expected an integer, found a number that is not in decimal digits
            workers: 9999999999999999999 → 1:10: workers: expected an integer, found a number beyond 64 bits
            workers: { a: 2 } → 1:10: workers: expected an integer, found keys and values
            workers: true → 1:10: workers: expected an integer, found a boolean
            workers: → 1:9: workers: expected an integer, found nothing
            broker: 3 → 1:9: broker: expected keys and values, found an integer
            broker: { endpoints: amqp://a } → 1:22: broker.endpoints: expected a list of texts, found text
            broker: { endpoints: [[]] } → 1:23: broker.endpoints[0]: expected text, found a list
            broker: { tls: { ca_file: [] } } → 1:27: broker.tls.ca_file: expected a file's path, found a list
            queues: push → 1:9: queues: expected a list of sections, found text
            queues: [\(shown)] → 1:10: queues[0]: expected keys and values, found text; write - name: "\(shown)"
            queues: [{ name: }] → 1:18: queues[0].name: expected text, found nothing
            retry: { delays_seconds: 3 } → 1:26: retry.delays_seconds: expected a list of integers, found an integer
            retry: { delays_seconds: [3, x] } → 1:30: retry.delays_seconds[1]: expected an integer, found text
            tracing: { sample_ratio: all } → 1:26: tracing.sample_ratio: expected a number, found text
            log: { show_payloads: yes } → 1:23: log.show_payloads: expected true or false, found text
            log: { show_payloads: "true" } → 1:23: log.show_payloads: expected true or false, found text
            log: { level: [] } → \
                1:15: log.level: expected one of trace, debug, info, notice, warning, error, critical, found a list
            """)

        private static let valuesOutOfRange = cases(
            """
            tracing: { sample_ratio: 1.5 } → 1:26: tracing.sample_ratio: 1.5 is out of range; expected 0.0 to 1.0
            tracing: { sample_ratio: nan } → 1:26: tracing.sample_ratio: nan is out of range; expected 0.0 to 1.0
            workers: 0 → 1:10: workers: 0 is out of range; expected 1 to 256
            results: { per: Request } → \
                1:17: results.per: "Request" is not one of notification, request; did you mean "request"?
            retry: { delays_seconds: [900, 0] } → 1:32: retry.delays_seconds[1]: 0 is out of range; expected 1 to 604800
            retry: { delays_seconds: [] } → 1:26: retry.delays_seconds has 0 elements; expected 1 to 16
            broker: { endpoints: [] } → 1:22: broker.endpoints has 0 elements; expected 1 to 32
            queues: [{ name: "" }] → 1:18: queues[0].name is empty; expected 1 to 255 bytes
            queues: [{ name: \(String(repeating: "q", count: 256)) }] → \
                1:18: queues[0].name has 256 bytes; expected 1 to 255 bytes
            queues: [{ name: \(String(repeating: "q", count: 244)) }] → \
                1:18: queues[0].name: has 244 bytes; with .retry.3600s for its retry queue at most 243 fit
            log: { format: \(shown)x } → 1:16: log.format: "\(shown)…" is not one of text, json
            log: { level: warn } → \
                1:15: log.level: "warn" is not one of trace, debug, info, notice, warning, error, critical; did you \
            mean "warning"?
            """)

        @Test("The longest queue name leaves room for its retry queue's, and a name may resemble a retry queue's")
        func validNames() {
            let names = [String(repeating: "q", count: 243), "a", "a.retry.7", "a.retry.s", "a.retry.7sx"]
            let queues = names.map { "{ name: \($0) }" }.joined(separator: ", ")
            #expect(errors("queues: [\(queues)]\n" + app).isEmpty)
        }

        @Test("Every problem is reported in one run, in the order of the lines")
        func allAtOnce() {
            let found = errors(
                """
                workers: none
                log: { level: loud, colour: red }
                log: { level: info }
                queues:
                  - prefetch: 1
                    prefetch: 2
                    "prefetch": 3
                  - name: a
                    'name': b
                apps:
                  - token: { key_file: a, key_id: "${KEY}" }
                    topic: t
                """)
            #expect(
                found == [
                    "harebell.yaml:1:10: workers: expected an integer, found text",
                    "harebell.yaml:3:1: duplicate key \"log\"; it is already on line 2",
                    "harebell.yaml:5:5: queues[0].name is missing: The queue's name; with the suffix "
                        + ".retry.<seconds>s it must fit into 255 bytes.",
                    "harebell.yaml:6:5: duplicate key \"prefetch\" in queues[0]; it is already on line 5",
                    "harebell.yaml:7:5: duplicate key \"prefetch\" in queues[0]; it is already on line 5",
                    "harebell.yaml:9:5: duplicate key \"name\" in queues[1]; it is already on line 8",
                    "harebell.yaml:11:12: apps[0].token.team_id is missing: The team ID, ten characters.",
                    "harebell.yaml:11:35: apps[0].token.key_id: the environment variable KEY is not set",
                ])
        }

        private static let badReferences = cases(
            """
            queues: [{ name: "${NOT_SET}" }] → 1:18: queues[0].name: the environment variable NOT_SET is not set
            queues: [{ name: "a${" }] → 1:18: queues[0].name: "${" without "}"; write "$${" for a plain "${"
            queues: [{ name: "${a-b}" }] → \
                1:18: queues[0].name: expected an environment variable's name in "${…}"; write "$${" for a plain "${"
            workers: ${N} → 1:10: workers: expected an integer, found text
            """)

        @Test("Text that is not YAML is one error at the place where parsing stopped, and the text is not quoted")
        func notYAML() {
            let found = errors("broker:\n  endpoints: [\"amqp://a:hunter2@b\"\nqueues: }\n")
            #expect(found.count == 1 && found[0].hasPrefix("harebell.yaml:3:1: not YAML: "))
            #expect(!found[0].contains("hunter2") && !found[0].contains(";"), "no hint fits")
            #expect(errors("- a") == ["harebell.yaml:1:1: expected keys and values, found a list"])
        }

        @Test(
            "The message names a likely mistake and the remedy",
            arguments: [
                ("queues:\n\t- name: a\n\(app)", "the line has a tab: indent with spaces"),
                ("queues:\r\n\t- name: a\r\n\(app)", "the line has a tab: indent with spaces"),
                ("queues:\n\t- name: ${NAME}\n\(app)", "the line has a tab: indent with spaces"),
                ("log: { level: ${LEVEL:-info} }\n\(app)", "; quote a value with ${…} within braces"),
                (app + "\n    environment: sandbox", "did you mean \"development\"?"),
                (
                    "broker: { endpoints: [\"amqp://a:b#c@127.0.0.1:5672/\"] }\n\(app)",
                    "; write # in a user's name or password as %23"
                ),
            ])
        func likely(text: String, part: String) {
            #expect(errors(text).joined().contains(part), "\(errors(text))")
        }

        @Test("A file that is missing, not UTF-8 or above 4 MiB is an error")
        func unreadable() throws {
            #expect {
                _ = try ConfigurationDocument.load(path: "/nowhere/harebell.yaml")
            } throws: { error in
                "\(error)" == "/nowhere/harebell.yaml:1:1: cannot read the file: No such file or directory"
            }
            let folder = try TemporaryDirectory()
            let file = try folder.write(Array("a: \u{FFFD}\nb: é".utf8) + [0xFF], to: "harebell.yaml")
            let error = #expect(throws: ConfigurationError.self) { try ConfigurationDocument.load(path: file) }
            #expect(error?.description == "\(file):2:5: not YAML: invalid leading UTF-8 octet")
            let large = try folder.write([UInt8](repeating: 10, count: 4_194_305), to: "large")
            #expect(throws: WholeFile.Failure.tooLarge(limit: 4_194_304)) { try ConfigurationFiles.read(large) }
        }

        @Test("The same app twice is an error that names the first")
        func twice() {
            for topic in ["a b", "bücher", "a\\x7F"] {
                #expect(
                    errors("apps: [{ topic: \"\(topic)\", \(Self.token) }]") == [
                        "harebell.yaml:1:17: apps[0].topic: expected a bundle ID: letters, digits, dots and hyphens"
                    ])
            }
            let two = """
                apps:
                  - { topic: t, \(Self.token) }
                  - { topic: t, environment: development, \(Self.token) }
                """
            #expect(errors(two).isEmpty)
            #expect(
                errors(two.replacing("development", with: "production")) == [
                    "harebell.yaml:3:14: apps[1].topic: apps[0] has the same topic for production already"
                ])
        }

        private static let badCredentials = cases(
            """
            environment: production → 2:5: apps[0]: no credential: expected token or certificate
            token: { key_file: a, key_id: ABC123DEFG, team_id: DEF123GHIJ }, certificate: { p12_file: a } → \
                2:95: apps[0].certificate: apps[0].token is also given; expected only one of the two
            certificate: {} → 2:30: apps[0].certificate: expected certificate_file and private_key_file, or p12_file
            certificate: { certificate_file: a } → \
                2:50: apps[0].certificate.certificate_file: private_key_file is missing
            certificate: { private_key_file: a } → \
                2:50: apps[0].certificate.private_key_file: certificate_file is missing
            token: { key_file: a, key_id: ABC-123, team_id: DEF123GHIJ } → \
                2:47: apps[0].token.key_id: expected letters and digits
            """)

        @Test("An app has one credential", arguments: badCredentials)
        func credentials(text: String, message: String) {
            #expect(errors("apps:\n  - { topic: t, \(text) }") == ["harebell.yaml:" + message])
        }

        private static let brokenRules = cases(
            """
            apns: { connections: { min: 9 } } → 1:29: apns.connections.min: 9 is more than apns.connections.max, 8
            dead_letter: { routing_key: push.requests } → \
                1:29: dead_letter.routing_key: "push.requests" is a request queue: requests would loop
            dead_letter: { routing_key: push.requests.retry.7s } → \
                1:29: dead_letter.routing_key: is the name of a retry queue: requests would loop
            dead_letter: { exchange: dlx, routing_key: push.requests } → \
                1:44: dead_letter.routing_key: "push.requests" is a request queue: requests would loop
            results: { exchange: e, routing_key: push.requests.retry.7s } → \
                1:38: results.routing_key: is the name of a retry queue: requests would loop
            results: { routing_key: "" } → 1:25: results.routing_key: the default exchange needs a queue's name
            queues: [{ name: a, decoder: apns_jsn }] → \
                1:30: queues[0].decoder: "apns_jsn" is not one of \(formats); did you mean "apns-json"?
            queues: [{ name: a }, { name: a }] → 1:31: queues[1].name: "a" is queues[0].name already
            queues: [{ name: amq.a }] → 1:18: queues[0].name: names that start with amq. are reserved
            queues: [{ name: a.retry.7s }, { name: a }] → \
                1:18: queues[0].name: is the name of another queue's retry queue: requests would not wait there
            admin: { listen: "0.0.0.0:9464" } → 1:18: admin.listen: is not a loopback address: set admin.token_file
            admin: { listen: "example.com:9464" } → \
                1:18: admin.listen: expected a numeric address and a port, such as 127.0.0.1:9464
            tracing: { endpoint: "grpc://127.0.0.1:4317" } → \
                1:22: tracing.endpoint: expected http://host:port or https://host:port, without a path
            broker: { tls: { certificate_file: a }, endpoints: ["amqps://a"] } → \
                1:36: broker.tls.certificate_file: private_key_file is missing
            broker: { endpoints: ["amqps://a/v?auth_mechanism=external"] } → \
                1:23: broker.endpoints[0]: auth_mechanism=external needs amqps:// and broker.tls.certificate_file
            admin: { token_file: missing } → 1:22: admin.token_file: cannot read missing: No such file or directory
            """)

        /// No message quotes the address.
        private static let badBrokerURIs = cases(
            """
            broker: { endpoints: ["http://hunter2@a"] } → \
                1:23: broker.endpoints[0]: broker address: the scheme is neither amqp:// nor amqps://
            broker: { endpoints: ["amqp://hunter2%zz@a"] } → \
                1:23: broker.endpoints[0]: broker address: the user contains a % without two hexadecimal digits
            broker: { endpoints: ["amqp://a:hunter2@b:x"] } → \
                1:23: broker.endpoints[0]: broker address: the host or the port is invalid: an IPv6 address needs \
            brackets, a port is from 1 to 65535
            broker: { endpoints: ["amqp://a:hunter2@b/c/d"] } → \
                1:23: broker.endpoints[0]: broker address: the virtual host contains a slash: write %2f
            """)

        @Test(
            "A wrong key, type, value, reference, address or rule is an error in its place with the remedy",
            arguments: wrongKeysOrTypes + valuesOutOfRange + badReferences + brokenRules + badBrokerURIs)
        func wrongSetting(text: String, message: String) {
            #expect(errors(text + "\n" + app, environment: ["N": "many"]) == ["harebell.yaml:" + message])
        }

        @Test(
            "An app's endpoint is an https URL",
            arguments: [
                "http://a:1", "https://", "https://a:x", "https://a:70000", "https://a/b", "https://u@a", "a:1",
                "https://a:0",
            ])
        func endpoints(text: String) {
            #expect(
                errors("apps:\n  - { topic: t, endpoint: \"\(text)\", \(Self.token) }")
                    == ["harebell.yaml:2:27: apps[0].endpoint: expected https://host:port"])
        }

        @Test("Channels use Apple's hosts for them, or an endpoint that is another host")
        func channelEndpoints() throws {
            func app(_ keys: String) throws -> Configuration.App {
                try document("apps:\n  - { topic: t, \(keys)\(Self.token) }").configuration.apps[0]
            }
            let plain = try app("")
            #expect(plain.managementEndpoint == Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196))
            let development = try app("environment: development, ")
            #expect(development.endpoint == Endpoint(host: "api.sandbox.push.apple.com", port: 443))
            #expect(
                development.managementEndpoint
                    == Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195))
            let simulated = try app("endpoint: \"https://127.0.0.1:8443\", ")
            let simulator = Endpoint(host: "127.0.0.1", port: 8443)
            #expect(simulated.managementEndpoint == simulator)
            let otherPort = try app("endpoint: \"https://api.push.apple.com:2197\", ")
            #expect(otherPort.endpoint.port == 2197 && otherPort.managementEndpoint == plain.managementEndpoint)
        }

        @Test(
            "A configured topic is a bundle ID: the suffix of a push type is an error, or a warning if ambiguous",
            arguments: [
                ("push-type.controls", "controls", true), ("push-type.liveactivity", "liveactivity", true),
                ("push-type.widgets", "widgets", true), ("pushkit.fileprovider", "fileprovider", true),
                ("location-query", "location", true), ("voip-ptt", "pushtotalk", true), ("voip", "voip", false),
                ("complication", "complication", false),
            ])
        func suffixedTopic(suffix: String, type: String, isError: Bool) throws {
            let text = "apps:\n  - { topic: com.example.app.\(suffix), \(Self.token) }"
            let message =
                isError
                ? "apps[0].topic: is the topic of \(type), expected the bundle ID:"
                : "warning: apps[0].topic: is read as a bundle ID; if it is the topic of \(type),"
            let found = try isError ? errors(text) : warnings(text)
            #expect(found == ["harebell.yaml:2:14: \(message) leave out .\(suffix)"])
        }

        private static let contradictions = cases(
            """
            broker: { tls: { ca_file: a } } → \
                1:27: warning: broker.tls.ca_file: has no effect: no endpoint starts with amqps://
            broker: { endpoints: ["amqp://rabbit:5672/"] } → \
                1:23: warning: broker.endpoints[0]: the final slash means the virtual host with the empty name: end \
            with /%2f, or without a slash, for the virtual host /
            queues: [{ name: a, prefetch: 300, rate_limit: { per_second: 1, burst: 1 } }] → \
                1:62: warning: queues[0].rate_limit.per_second: queues[0].prefetch takes 300 s at this rate, but \
            requests wait at most hold_seconds (300): lower prefetch
            """)

        @Test("A contradictory setting is a warning with a hint", arguments: contradictions)
        func warned(text: String, message: String) throws {
            #expect(try warnings(text + "\n" + app) == ["harebell.yaml:" + message])
        }
    }

    @Suite("Secrets")
    struct Secrets {
        @Test("A secret appears in no description, interpolation or dump")
        func redacted() throws {
            let found = try document(
                "broker: { endpoints: [\"amqp://a:hunter2@b\"], password_file: p }\n" + app, files: ["p": "hunter2"]
            ).configuration
            var dumped = ""
            dump(found, to: &dumped)
            for text in [dumped, "\(found)", String(reflecting: found), String(describing: found.broker.password)] {
                #expect(!text.contains("hunter2"))
            }
            #expect("\(Secret("x"))" == "<secret>")
        }
    }

    @Suite("Reference")
    struct Reference {
        @Test("The page in the documentation ends with the same table")
        func page() throws {
            let page = try DocumentationPage("reference/configuration.md").text
            #expect(page.hasSuffix("\n\n" + Schema.markdown))
        }

        @Test("The reference names every key with its type, default, range and sentence")
        func complete() {
            let text = Schema.settings.flatMap(\.reference).joined(separator: "\n") + "\n"
            for setting in Schema.settings {
                #expect(text.contains("\(setting.path)\n") && text.contains("    \(setting.summary)\n"))
            }
            #expect(
                text.contains(
                    """
                    broker.heartbeat_seconds
                        integer, default 15, 1 to 600
                        Heartbeat to propose;
                    """))
            #expect(text.contains("apps[].token.key_file\n    file, required\n"))
            #expect(text.contains("feedback.routing_key\n    text or null, default push.feedback, 0 to 255 bytes\n"))
        }
    }
}
