import Core
import Testing

@testable import Configuration
@testable import Runtime

@Suite("A proxy to APNs")
struct ProxyRouteTests {
    private func configuration(apns: String? = nil, environment: [String: String] = [:]) throws -> Configuration {
        let proxy = apns.map { "proxy: \"\($0)\"" } ?? ""
        return try document("apns: { \(proxy) }\n\(oneApp)", environment: environment).configuration
    }

    @Test("It may come from a variable, without which there is none")
    func variable() throws {
        let setting = "${HTTPS_PROXY:-none}"
        #expect(try configuration(apns: setting).apns.proxy == nil)
        let found = try configuration(apns: setting, environment: ["HTTPS_PROXY": "http://p:1"])
        #expect(found.apns.proxy == ProxyAddress(endpoint: Endpoint(host: "p", port: 1)))
        #expect(try configuration(environment: ["HTTPS_PROXY": "http://p:1"]).apns.proxy == nil)
    }

    @Test(
        "A URI that is not an HTTP proxy is an error that does not show it",
        arguments: [
            "proxy:3128", "https://user:secret@proxy:3128", "http://user:secret@proxy", "http://",
            "http://user:secret@",
            "http://us%zz:secret@proxy:1", "http://us%3Aer:secret@proxy:1", "http://user:%ff@proxy:1",
            "http://user:secret@pro xy:1", "http://proxy:99999", "http://proxy:-0", "socks5://proxy:1",
        ])
    func wrong(text: String) {
        let expected = "expected http://user:password@host:port, or none"
        #expect(errors("apns: { proxy: \"\(text)\" }\n\(oneApp)") == ["harebell.yaml:1:16: apns.proxy: \(expected)"])
    }

    @Test("Credentials may be percent-encoded or from the environment, and are part of a pool's identity")
    func credentials() throws {
        func plan(_ text: String) throws -> PoolPlan {
            let found = try configuration(apns: text, environment: ["PASSWORD": "p@s:s"])
            return PoolPlan(found.apps[0], found.apns)
        }
        let plain = ProxyAddress(endpoint: Endpoint(host: "p", port: 1), user: "u", password: "p@s:s")
        #expect(try plan("http://u:p%40s%3As@p:1").proxy == plain)
        #expect(try plan("http://u:p@s:s@p:1/").proxy == plain, "the host comes after the last @")
        #expect(try plan("http://u:${PASSWORD}@p:1").proxy == plain)
        #expect(try !plan("http://u:x@p:1").isAlike(plan("http://u:p%40s%3As@p:1")))
        #expect(try plan("http://u@p:1").proxy == ProxyAddress(endpoint: plain.endpoint, user: "u"))
        var dumped = ""
        dump(try configuration(apns: "http://user:p%40ss@p:1"), to: &dumped)
        #expect(!dumped.contains("p@ss") && !dumped.contains("p%40ss") && !dumped.contains("dXNlcj"))
    }
}
