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
    /// Bytes of a response that are read.
    static let maximumResponse = 64 * 1024

    package private(set) var end: End?
    private var output = ByteQueue()
    private var response: [UInt8] = []
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
            while end == nil, case .bytes = try tls.read(into: &plaintext) {
                plaintext.withBytes { read($0) }
                plaintext.removeAll()
            }
        } catch {
            finish(.failed(error.description))
        }
    }

    private func read(_ bytes: Span<UInt8>) {
        for index in 0..<min(bytes.count, Self.maximumResponse - response.count) { response.append(bytes[index]) }
        if let length = contentLength, let body = head?.body, body.count >= length { finish() }
        if response.count == Self.maximumResponse { finish() }
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

    package var wantsDisconnect: Bool { end != nil }
    package var nextDeadline: Instant? { end == nil ? deadline : nil }

    package func expire(at now: Instant) {
        guard deadline <= now else { return }
        if head == nil { finish(.failed("no response within \(Self.timeout)")) } else { finish() }
    }

    // MARK: The response

    /// Ends with what was received.
    private func finish() {
        guard let head else { return finish(.failed("the response is not HTTP, or not complete")) }
        // A body in chunks has their sizes around its JSON.
        let start = head.body.firstIndex(of: UInt8(ascii: "{")) ?? head.body.endIndex
        let last = head.body.lastIndex(of: UInt8(ascii: "}")) ?? start
        let json = last > start ? head.body[start...last] : []
        finish(.response(status: head.status, rejectedSpans: OTLPEncoder.rejectedSpans(in: json)))
    }

    private func finish(_ end: End) {
        if self.end == nil { self.end = end }
        output.removeAll()
    }

    /// `nil` until the header is complete.
    private var head: (status: Int, header: String, body: ArraySlice<UInt8>)? {
        let separator = Array("\r\n\r\n".utf8)
        guard let end = response.firstRange(of: separator) else { return nil }
        let header = String(decoding: response[..<end.lowerBound], as: UTF8.self)
        let words = header.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
        return (status, header, response[end.upperBound...])
    }

    private var contentLength: Int? {
        for line in head?.header.split(separator: "\r\n") ?? [] where line.lowercased().hasPrefix("content-length:") {
            return Int(line.drop { $0 != ":" }.dropFirst().filter { $0 != " " })
        }
        return nil
    }
}
