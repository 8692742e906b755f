package import Core
package import TLS

/// One request of HTTP/1 on a separate connection, and its response. The response's body ends with its length, if the
/// head has one, or with the connection.
///
/// Source: RFC 9112.
package final class HTTPRequest: Engine {
    package struct Response: Sendable, Equatable {
        package let status: Int
        package let body: [UInt8]
    }

    package enum Failure: Error, Equatable {
        case transport(String)
        /// Another protocol, or an incomplete response.
        case notHTTP
        case tooLong
        case timeout
    }

    /// Bytes of a response's body: about 1,000 for each app in `/readyz`.
    private static let maximumBody = 4 * 1024 * 1024

    package private(set) var result: Result<Response, Failure>?
    private var output = ByteQueue()
    private var reader = ResponseHeadReader()
    /// `nil` until it is complete.
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private var tls: TLSSession?
    private let deadline: Instant

    /// - Parameters:
    ///   - text: the complete request.
    ///   - context: `nil` for a connection without TLS.
    package init(
        _ text: [UInt8], to endpoint: Endpoint, context: TLSContext? = nil, timeout: Duration, at now: Instant
    ) {
        deadline = now + timeout
        tls = context.map { TLSSession(context: $0, serverName: endpoint.host) }
        output.append(text)
    }

    package func transportOpened(at now: Instant) {
        secure()
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard result == nil else { return }
        guard tls != nil else { return read(bytes) }
        tls!.receive(bytes)
        secure()
    }

    /// Continues the handshake, then reads the received bytes.
    private func secure() {
        guard tls != nil else { return }
        do throws(TLSError) {
            guard try tls!.handshake() else { return }
            while result == nil {
                var plaintext = ByteQueue()
                switch try tls!.read(into: &plaintext) {
                case .bytes: plaintext.withBytes { read($0) }
                case .wantsInput: return
                case .closed: finish()
                }
            }
        } catch {
            finish(.failure(.transport(error.description)))
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
                return finish(.failure(error == .tooLong ? .tooLong : .notHTTP))
            }
        }
        let rest = bytes.extracting(start...)
        guard body.count + rest.count <= Self.maximumBody else { return finish(.failure(.tooLong)) }
        body.append(rest)
        if let length = head?.bodyLength, body.count >= length { finish() }
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        if let failure { finish(.failure(.transport(failure.message))) } else { finish() }
    }

    package func drain(into output: inout ByteQueue) {
        guard tls != nil else { return output.append(moving: &self.output) }
        if tls.isEstablished, result == nil {
            do throws(TLSError) {
                try tls!.write(from: &self.output)
            } catch {
                finish(.failure(.transport(error.description)))
            }
        }
        tls!.drain(into: &output)
    }

    package var isEstablished: Bool { head != nil }
    package var wantsDisconnect: Bool { result != nil }
    package var nextDeadline: Instant? { result == nil ? deadline : nil }

    package func expire(at now: Instant) {
        if deadline <= now { finish(.failure(.timeout)) }
    }

    /// Ends with what was received.
    private func finish() {
        guard let head, head.bodyLength ?? 0 <= body.count else { return finish(.failure(.notHTTP)) }
        finish(.success(Response(status: head.status, body: body)))
    }

    private func finish(_ result: Result<Response, Failure>) {
        self.result = self.result ?? result
    }
}
