import Core
import Glibc
import System
import TLS
import TestSupport
import Testing

@testable import Simulator

/// Third-party clients.
private enum Tools {
    static let curl = "/usr/bin/curl"
    static let nghttp = "/usr/bin/nghttp"

    static var haveCurl: Bool { unsafe access(curl, X_OK) == 0 }
    static var haveNghttp: Bool { unsafe access(nghttp, X_OK) == 0 }
}

/// Real sockets, and independent implementations of HTTP/2.
@Suite("The simulator as a server", .timeLimit(.minutes(15)))
struct SimulatorServerTests {
    /// A running simulator with a folder for files.
    final class Fixture {
        let folder: TemporaryDirectory
        let server: SimulatorServer

        init(_ script: String = "", _ change: (inout SimulatorOptions) -> Void = { _ in }) throws {
            folder = try TemporaryDirectory()
            var options = SimulatorOptions()
            options.configuration.keys = [ProviderTokenRulesTests.key]
            options.script = try Script(script, file: "test", &options.configuration)
            options.authorityFile = folder.file("ca.pem")
            change(&options)
            server = try SimulatorServer(options)
        }

        deinit {
            server.stop()
        }
    }

    /// Source: "Sending push notifications using command-line tools".
    @Test("Apple's shell lines work as they stand", .enabled(if: Tools.haveCurl, "curl is not installed"))
    func shellLines() throws {
        let fixture = try Fixture()
        let script = #"""
            TEAM_ID=\#(Samples.teamID)
            TOKEN_KEY_FILE_NAME=\#(fixture.folder.file("AuthKey.p8"))
            AUTH_KEY_ID=\#(Samples.keyID)
            TOPIC=com.example.MyApp
            DEVICE_TOKEN=00fc
            APNS_HOST_NAME=localhost:\#(fixture.server.port)
            export CURL_CA_BUNDLE=\#(fixture.folder.file("ca.pem"))
            JWT_ISSUE_TIME=$(date +%s)
            JWT_HEADER=$(printf '{ "alg": "ES256", "kid": "%s" }' "${AUTH_KEY_ID}" | openssl base64 -e -A |
                tr -- '+/' '-_' | tr -d =)
            JWT_CLAIMS=$(printf '{ "iss": "%s", "iat": %d }' "${TEAM_ID}" "${JWT_ISSUE_TIME}" | openssl base64 -e -A |
                tr -- '+/' '-_' | tr -d =)
            JWT_HEADER_CLAIMS="${JWT_HEADER}.${JWT_CLAIMS}"
            JWT_SIGNED_HEADER_CLAIMS=$(printf "${JWT_HEADER_CLAIMS}" |
                openssl dgst -binary -sha256 -sign "${TOKEN_KEY_FILE_NAME}" | openssl base64 -e -A |
                tr -- '+/' '-_' | tr -d =)
            AUTHENTICATION_TOKEN="${JWT_HEADER}.${JWT_CLAIMS}.${JWT_SIGNED_HEADER_CLAIMS}"
            curl -v --header "apns-topic: $TOPIC" --header "apns-push-type: alert" \
                --header "authorization: bearer $AUTHENTICATION_TOKEN" \
                --data '{"aps":{"alert":"test"}}' --http2 https://${APNS_HOST_NAME}/3/device/${DEVICE_TOKEN}
            """#
        for key in [Samples.signingKey, SigningKey.generate().pkcs8PEM] {
            try fixture.folder.write(key, to: "AuthKey.p8")
            _ = try ChildProcess.run("/bin/bash", ["-c", script])
        }
        // The second key is another one: the signature counts.
        #expect(fixture.server.ledger.statistics.responses == [200: 1, 403: 1])
    }

    @Test(
        "nghttp posts many notifications at once and its PRIORITY frames are counted",
        .enabled(if: Tools.haveNghttp, "nghttp (Debian: nghttp2-client) is not installed"))
    func nghttp() throws {
        let fixture = try Fixture("set streams-before-token 100")
        let payload = try fixture.folder.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload")
        let bearer = Samples.bearer(issuedAt: SystemClock.now().wall.seconds)
        let output = try ChildProcess.run(
            Tools.nghttp,
            [
                "--stat", "--no-verify-peer", "--null-out", "--multiply=50", "--data=\(payload)",
                "--header=authorization: \(bearer)", "--header=apns-topic: com.example.MyApp",
                "https://localhost:\(fixture.server.port)/3/device/00fc",
            ])
        #expect(output.split(separator: "\n").count { $0.contains(" 200 ") } == 50, "\(output)")
        #expect(fixture.server.ledger.statistics.accepted == 50)
        #expect(fixture.server.ledger.statistics.priorityFrames > 0)
    }

    @Test("A bad certificate or address is reported, and does not trap")
    func badOptions() throws {
        #expect(throws: Complaint.self) {
            try Fixture { $0.identity = .pemText(certificates: "none", privateKey: "none") }
        }
        #expect(throws: EventLoopError.self) { try Fixture { $0.address = "nowhere" } }
        #expect(throws: Complaint.self) { try Fixture { $0.authorityFile = "/no/such/folder/ca.pem" } }
    }
}
