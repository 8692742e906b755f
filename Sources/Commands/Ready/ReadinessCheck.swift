import Configuration
import Core
import Monitoring

/// Asks the admin server of a running worker for `/readyz`.
final class ReadinessCheck: Run {
    /// Health checks commonly allow 5 s.
    private static let timeLimit = Duration.seconds(4)

    private let endpoint: Endpoint
    private let request: HTTPRequest
    private var isStopped = false

    init(_ admin: Configuration.Admin, network: any Network, at now: Instant) {
        endpoint = admin.listen
        let authorization = admin.token.map { "Authorization: Bearer \($0.reveal())\r\n" } ?? ""
        // The response to HTTP/1.0 ends with its connection.
        let text = "GET /readyz HTTP/1.0\r\nHost: localhost\r\n\(authorization)\r\n"
        request = HTTPRequest(Array(text.utf8), to: endpoint, timeout: Self.timeLimit, at: now)
        network.connect(request, to: endpoint, timeout: Self.timeLimit)
    }

    var response: HTTPRequest.Response? { try? request.result?.get() }

    /// Why there is no response; `nil` if there is one.
    var failure: String? {
        switch request.result {
        case .success?, nil: nil
        case .failure(.transport(let message))?: message
        case .failure(.notHTTP)?:
            "\(endpoint) does not respond as the admin server of a worker: check admin.listen"
        case .failure(.tooLong)?: "\(endpoint) sends too much"
        case .failure(.timeout)?: "\(endpoint) did not respond within \(Self.timeLimit)"
        }
    }

    var isFinished: Bool { isStopped || request.result != nil }

    var nextDeadline: Instant? { isFinished ? nil : request.nextDeadline }

    func step(at now: Moment) {
        request.expire(at: now.instant)
    }

    func stop(at now: Moment) {
        isStopped = true
    }
}
