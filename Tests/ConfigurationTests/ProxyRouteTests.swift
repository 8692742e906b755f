import Core
import Testing

@testable import Configuration
@testable import Runtime

@Suite("Routes to APNs")
struct ProxyRouteTests {
    static let apple = Endpoint(host: "api.push.apple.com", port: 443)

    /// The configuration of one app, or the errors.
    private func configuration(
        apns: String? = nil, endpoint: String? = nil, environment: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        let text = """
            apns: { \(apns.map { "proxy: \"\($0)\"" } ?? "") }
            apps:
              - topic: com.example.app
                endpoint: \(endpoint ?? "null")
                token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
            """
        return try ConfigurationDocument(
            text: text, file: "harebell.yaml", environment: { environment[$0] },
            readFile: { _ throws(ConfigurationFiles.Failure) in [] }
        ).configuration
    }

    private func proxy(
        apns: String? = nil, endpoint: String? = nil, environment: [String: String] = [:]
    ) throws -> String? {
        let found = try configuration(apns: apns, endpoint: endpoint, environment: environment)
        return found.apns.proxy.proxy(to: found.apps[0].endpoint)?.endpoint.host
    }

    private func errors(apns: String? = nil, environment: [String: String] = [:]) -> [String] {
        do {
            _ = try configuration(apns: apns, environment: environment)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test("The setting overrides the environment")
    func precedence() throws {
        let environment = ["HTTPS_PROXY": "http://three:1", "https_proxy": "http://four:1"]
        #expect(try proxy() == nil)
        #expect(try proxy(apns: "http://two:1", environment: environment) == "two")
        #expect(try proxy(environment: environment) == "three")
        #expect(try proxy(environment: ["HTTPS_PROXY": "", "https_proxy": "four:1"]) == "four")
        #expect(try proxy(apns: "none", environment: environment) == nil)
    }

    @Test(
        "NO_PROXY names hosts that are reached without the environment's proxy",
        arguments: [
            ("*", true), ("api.push.apple.com", true), ("apple.com", true), (".apple.com", true), ("*.apple.com", true),
            ("API.PUSH.Apple.COM", true), ("localhost, .apple.com", true), ("a b apple.com", true),
            ("apple.com:443", true), ("apple.com:2197", false), ("ple.com", false), ("xapi.push.apple.com", false),
            ("push.apple.com.example", false), ("", false), (",", false), (".", false), (":443", false),
        ])
    func exceptions(list: String, isDirect: Bool) throws {
        #expect(try (proxy(environment: ["HTTPS_PROXY": "p:1", "NO_PROXY": list]) == nil) == isDirect)
        #expect(try (proxy(environment: ["HTTPS_PROXY": "p:1", "no_proxy": list]) == nil) == isDirect)
        #expect(try proxy(apns: "http://p:1", environment: ["NO_PROXY": list]) == "p", "the file's is for every host")
    }

    @Test("Addresses can be excluded, and this host always is")
    func addresses() throws {
        func isDirect(_ endpoint: String, _ list: String = "") throws -> Bool {
            try proxy(endpoint: endpoint, environment: ["HTTPS_PROXY": "p:1", "NO_PROXY": list]) == nil
        }
        #expect(try isDirect("https://192.0.2.1", "192.0.2.1"))
        #expect(try !isDirect("https://192.0.2.10", "192.0.2.1"))
        #expect(try isDirect("https://[2001:db8::1]:2197", "2001:db8::1"))
        #expect(try isDirect("https://[2001:db8::1]:2197", "[2001:db8::1]:2197"))
        #expect(try !isDirect("https://[2001:db8::1]", "[2001:db8::1]:2197"))
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"] { #expect(try isDirect("https://\(host):8443")) }
        #expect(try proxy(apns: "http://p:1", endpoint: "https://127.0.0.1:8443") == "p")
    }

    @Test(
        "A URI that is not an HTTP proxy is an error that does not show it",
        arguments: [
            "proxy:3128", "https://user:secret@proxy:3128", "http://user:secret@proxy", "http://",
            "http://user:secret@",
            "http://us%zz:secret@proxy:1", "http://us%3Aer:secret@proxy:1", "http://user:%ff@proxy:1",
            "http://user:secret@pro xy:1", "http://proxy:99999", "socks5://proxy:1",
        ])
    func wrong(text: String) {
        let expected = "expected http://user:password@host:port, or none"
        #expect(errors(apns: text) == ["harebell.yaml:1:16: apns.proxy: \(expected)"])
    }

    @Test("A wrong proxy in the environment is an error unless the file overrides it")
    func wrongEnvironment() throws {
        let environment = ["https_proxy": "socks5://user:secret@proxy:1"]
        #expect(
            errors(environment: environment) == [
                "harebell.yaml:1:7: the environment variable https_proxy: expected http://user:password@host:port; "
                    + "apns.proxy: none ignores it"
            ])
        #expect(try proxy(apns: "none", environment: environment) == nil)
    }

    @Test("Credentials may be percent-encoded or from the environment, and are part of a pool's identity")
    func credentials() throws {
        func plan(_ text: String) throws -> PoolPlan {
            let found = try configuration(apns: text, environment: ["PASSWORD": "p@ss"])
            return PoolPlan(found.apps[0], for: .notifications, found.apns)
        }
        let plain = ProxyAddress(endpoint: Endpoint(host: "p", port: 1), user: "u", password: "p@ss")
        #expect(try plan("http://u:p%40ss@p:1").proxy == plain)
        #expect(try plan("http://u:p@ss@p:1/").proxy == plain, "the host comes after the last @")
        #expect(try plan("http://u:${PASSWORD}@p:1").proxy == plain)
        #expect(try !plan("http://u:x@p:1").isAlike(plan("http://u:p%40ss@p:1")))
        #expect(try plan("http://u@p:1").proxy == ProxyAddress(endpoint: plain.endpoint, user: "u"))
        var dumped = ""
        dump(try configuration(apns: "http://user:p%40ss@p:1"), to: &dumped)
        #expect(!dumped.contains("p@ss") && !dumped.contains("p%40ss") && !dumped.contains("dXNlcj"))
    }
}
