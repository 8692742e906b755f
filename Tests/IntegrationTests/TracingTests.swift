import AMQP
import Core
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// Traces of `harebell run`, received and decoded by OpenTelemetry's own messages; see `docs/operate/tracing.md`.
    @Suite("Traces")
    struct TracingTests {
        private static let trace = "0af7651916cd43dd8448eb211c80319c"

        @Test(
            "A collector with TLS gets spans if SSL_CERT_FILE has its authority; otherwise they are dropped",
            .enabled(if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): opentelemetry-proto"),
            arguments: [true, false])
        func tls(isTrusted: Bool) throws {
            let stage = try Stage()
            let authority = CertificateAuthority(commonName: "Collectors", now: SystemClock.now().wall)
            let issued = authority.issue(addresses: ["127.0.0.1"], usage: .server)
            let receiver = try ForeignClient.start(
                "otlp_receiver.py",
                [
                    stage.directory.write(issued.certificatePEM, to: "collector.pem"),
                    stage.directory.write(issued.privateKeyPEM, to: "collector.key"),
                ])
            let authorityFile = try stage.directory.write(authority.certificatePEM, to: "authority.pem")
            let port = try receiver.waitForLine { $0.hasPrefix("listening ") }.dropFirst("listening ".count)
            var settings = Stage.Settings(queues: [stage.quorumQueue])
            settings.more = "tracing: { endpoint: \"https://127.0.0.1:\(port)\" }"
            settings.admin = "{ listen: \"127.0.0.1:0\" }"
            let worker = try stage.launch(settings, environment: isTrusted ? ["SSL_CERT_FILE": authorityFile] : [:])
            try worker.waitForLine("ready", within: .seconds(60))
            var request = stage.requests.message(1, to: stage.quorumQueue)
            request.properties.headers = ["traceparent": .string("00-\(Self.trace)-b7ad6b7169203331-01")]
            try stage.client.publish([request])
            try stage.client.consume([stage.resultQueue]) { _ in true }
            let result = isTrusted ? "exported" : "dropped"
            try eventually("spans are \(result)", within: .seconds(30)) {
                let page = try PrometheusPage(worker.page("/metrics").body)
                let spans = page.sum("harebell_spans_total", ["result": result]) ?? 0
                return spans > 0 ? spans : nil
            }
            if isTrusted {
                let span = try receiver.waitForLine { $0.contains("\"name\": \"harebell process\"") }
                for part in [Self.trace, "b7ad6b7169203331", "SPAN_KIND_CONSUMER"] { #expect(span.contains(part)) }
                #expect(!receiver.text().contains(Requests.deviceToken(1)), "device tokens are shortened")
            } else {
                let line = try worker.waitForLine(.errors) { $0.contains("spans cannot be exported") }
                for part in [
                    "comes from \\\"Collectors\\\", an authority that is not trusted here",
                    "add the authority's certificate to a CA file, the file in SSL_CERT_FILE or the system's store",
                ] {
                    #expect(line.contains(part), "\(line)")
                }
                #expect(!receiver.text().contains("harebell"))
            }
            try worker.end()
        }
    }
}
