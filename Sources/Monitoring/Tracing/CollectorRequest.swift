package import Core
package import TLS

/// One export: a POST on a separate connection, and the response of the collector.
///
/// Source: OpenTelemetry protocol 1.9, "OTLP/HTTP"; RFC 9112.
package final class CollectorRequest: Engine {
    package enum End: Equatable {
        case response(status: Int, rejectedSpans: Int)
        case failed(String)
    }

    /// OpenTelemetry's default timeout of an export (`OTEL_EXPORTER_OTLP_TIMEOUT`).
    package static let timeout = Duration.seconds(10)
    /// Bytes of a response's body that are read.
    static let maximumBody = 64 * 1024

    package private(set) var end: End?
    private var output = ByteQueue()
    private var reader = ResponseHeadReader()
    /// `nil` until it is complete.
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private let tls: TLSSession?
    private var plaintext = ByteQueue()
    private let deadline: Instant

    package init(_ body: [UInt8], to endpoint: Endpoint, context: TLSContext?, at now: Instant) {
        deadline = now + Self.timeout
        tls = context.map { TLSSession(context: $0, serverName: endpoint.host) }
        output.append(
            Array(
                """
                POST /v1/traces HTTP/1.1\r
                Host: \(endpoint)\r
                User-Agent: harebell/\(Version.text)\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                Connection: close\r
                \r\n
                """.utf8))
        output.append(body)
    }

    package func transportOpened(at now: Instant) {
        secure()
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard end == nil else { return }
        guard let tls else { return read(bytes) }
        tls.receive(bytes)
        secure()
    }

    /// Continues the handshake, then reads the received bytes.
    private func secure() {
        guard let tls else { return }
        do throws(TLSError) {
            guard try tls.handshake() else { return }
            while end == nil {
                switch try tls.read(into: &plaintext) {
                case .bytes:
                    plaintext.withBytes { read($0) }
                    plaintext.removeAll()
                case .wantsInput: return
                case .closed: finish()
                }
            }
        } catch {
            finish(.failed(error.description))
        }
    }

    private func read(_ bytes: Span<UInt8>) {
        var start = 0
        if head == nil {
            do throws(ResponseHeadReader.Failure) {
                guard let (head, count) = try reader.receive(bytes) else { return }
                self.head = head
                start = count
            } catch {
                return finish(.failed(Self.noHTTP))
            }
        }
        let rest = bytes.extracting(start...)
        body.append(rest.extracting(first: Self.maximumBody - body.count))
        if body.count >= min(head?.bodyLength ?? .max, Self.maximumBody) { finish() }
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        if let failure, head == nil { finish(.failed(failure.message)) } else { finish() }
    }

    package func drain(into output: inout ByteQueue) {
        guard let tls else { return output.append(moving: &self.output) }
        if tls.isEstablished, end == nil {
            do throws(TLSError) {
                try tls.write(from: &self.output)
            } catch {
                finish(.failed(error.description))
            }
        }
        tls.drain(into: &output)
    }

    package var isEstablished: Bool { head != nil }
    package var wantsDisconnect: Bool { end != nil }
    package var nextDeadline: Instant? { end == nil ? deadline : nil }

    package func expire(at now: Instant) {
        guard deadline <= now else { return }
        if head == nil { finish(.failed("no response within \(Self.timeout)")) } else { finish() }
    }

    // MARK: The response

    private static let noHTTP =
        "the response is not HTTP/1.1, or not complete: check that tracing.endpoint takes OTLP over HTTP (port 4318)"

    /// Ends with what was received.
    private func finish() {
        guard let head else { return finish(.failed(Self.noHTTP)) }
        // A body in chunks has their sizes around its JSON.
        let start = body.firstIndex(of: UInt8(ascii: "{")) ?? body.endIndex
        let last = body.lastIndex(of: UInt8(ascii: "}")) ?? start
        let json = last > start ? body[start...last] : []
        finish(.response(status: head.status, rejectedSpans: OTLPEncoder.rejectedSpans(in: json)))
    }

    private func finish(_ end: End) {
        if self.end == nil { self.end = end }
        output.removeAll()
    }
}
