import Core
import Monitoring
import TestSupport
import Testing

@testable import Configuration
@testable import Commands

@Suite("ReadinessCheck")
struct ReadinessCheckTests {
    private let endpoint = Endpoint(host: "127.0.0.1", port: 9464)

    /// The result of a check with a peer; `nil` refuses the connection.
    private func check(_ peer: HTTPPeer?, token: String? = nil) -> ReadinessCheck {
        let network = MemoryNetwork { _ in peer }
        network.largestPiece = 1_000
        let check = ReadinessCheck(
            Configuration.Admin(listen: endpoint, token: token.map { Secret($0) }), network: network,
            at: network.now)
        let start = network.now
        network.advance(by: .seconds(10), deadline: { check.nextDeadline }) {
            check.step(at: network.moment)
            return false
        }
        #expect(check.isFinished && network.now - start == .seconds(10))
        return check
    }

    private func peer(_ response: String, closes: Bool = true) -> HTTPPeer {
        HTTPPeer(closes: closes) { $0.hasSuffix("\r\n\r\n") ? response : nil }
    }

    @Test("the token is sent, and the result has the worker's status and body", arguments: [200, 503])
    func response(status: Int) throws {
        let peer = self.peer("HTTP/1.1 \(status) Text\r\nConnection: close\r\n\r\n{\"ready\": 1}\r\n\r\n")
        let response = try #require(check(peer, token: "open-sesame").response)
        #expect(response.status == status)
        #expect(String(decoding: response.body, as: UTF8.self) == "{\"ready\": 1}\r\n\r\n")
        #expect(peer.request == "GET /readyz HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer open-sesame\r\n\r\n")
    }

    @Test(
        "an invalid response is reported with the key to correct",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 no\r\n\r\n", "HTTP/1.\r\n\r\n"])
    func nonsense(text: String) {
        #expect(
            check(peer(text)).failure
                == "127.0.0.1:9464 does not respond as the admin server of a worker: check admin.listen")
    }

    @Test("On a terminal it prints what is missing, and problems of a ready worker")
    func lines() throws {
        let body = #"{"missing":["a"],"problems":[{"text":"a","runbook":"A"},{"text":"b","runbook":"B"}]}"#
        let response = try #require(check(peer("HTTP/1.1 503 No\r\n\r\n" + body)).response)
        #expect(ReadyCommand.lines(response) == ["not ready", "missing  a", "problem  b"])
    }

    @Test("a peer that refuses, keeps silent or never stops ends the check; 4 MiB are accepted")
    func unavailable() {
        let body = String(repeating: "a", count: 4 * 1024 * 1024)
        let longest = peer("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", closes: false)
        #expect(check(longest).response?.body.count == body.utf8.count)
        #expect(check(nil).failure == "127.0.0.1:9464 refused")
        let silent = peer("HTTP/1.1 200 OK\r\n\r\n", closes: false)
        #expect(check(silent).failure?.contains("did not respond within 4.0 seconds") == true)
        for (head, size) in [("HTTP/1.1 200 OK\r\n\r\n", body.utf8.count), ("HTTP/1.1 200 OK\r\nA: ", 16 * 1024)] {
            let endless = head + String(repeating: "a", count: size + 1)
            #expect(check(peer(endless, closes: false)).failure == "127.0.0.1:9464 sends too much")
        }
    }
}
