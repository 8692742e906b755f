import Configuration
import Core

/// Asks the admin server of a running worker for `/readyz`. The response to HTTP/1.0 ends with its connection.
///
/// Source: RFC 1945, sections 5 and 6.
final class ReadinessCheck: Engine, Run {
    /// Health checks commonly allow 5 s.
    private static let timeLimit = Duration.seconds(4)
    /// Bytes of a body: about 1,000 for each app.
    private static let maximumBody = 4 * 1024 * 1024

    struct Failure: Error {
        let message: String
    }

    private let endpoint: Endpoint
    private let deadline: Instant
    private var request: [UInt8]
    private var reader = ResponseHeadReader()
    /// `nil` until the head of the response is complete.
    private var status: Int?
    private var body: [UInt8] = []
    /// The status and the body.
    private(set) var result: Result<(status: Int, body: String), Failure>?

    init(_ admin: Configuration.Admin, network: any Network, at now: Instant) {
        endpoint = admin.listen
        deadline = now + Self.timeLimit
        let authorization = admin.token.map { "Authorization: Bearer \($0.reveal())\r\n" } ?? ""
        request = Array("GET /readyz HTTP/1.0\r\nHost: localhost\r\n\(authorization)\r\n".utf8)
        network.connect(self, to: endpoint, timeout: Self.timeLimit)
    }

    var isFinished: Bool { result != nil }

    var nextDeadline: Instant? { isFinished ? nil : deadline }

    func step(at now: Moment) {
        expire(at: now.instant)
    }

    func stop(at now: Moment) {
        fail("stopped")
    }

    // MARK: Engine

    func transportOpened(at now: Instant) {}

    func drain(into output: inout ByteQueue) {
        output.append(request)
        request = []
    }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard !isFinished else { return }
        var start = 0
        if status == nil {
            do throws(ResponseHeadReader.Failure) {
                guard let (head, count) = try reader.receive(bytes) else { return }
                status = head.status
                start = count
            } catch {
                return fail(error == .tooLong ? tooMuch : notAdmin)
            }
        }
        let rest = bytes.extracting(start...)
        guard body.count + rest.count <= Self.maximumBody else { return fail(tooMuch) }
        body.append(rest)
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        if let failure { return fail(failure.message) }
        guard let status else { return fail(notAdmin) }
        result = result ?? .success((status, String(decoding: body, as: UTF8.self)))
    }

    var isEstablished: Bool { status != nil }
    var wantsDisconnect: Bool { isFinished }

    func expire(at now: Instant) {
        if now >= deadline { fail("\(endpoint) did not respond within \(Self.timeLimit)") }
    }

    private var notAdmin: String {
        "\(endpoint) does not respond as the admin server of a worker: check admin.listen"
    }

    private var tooMuch: String { "\(endpoint) sends too much" }

    private func fail(_ message: String) {
        result = result ?? .failure(Failure(message: message))
    }
}
