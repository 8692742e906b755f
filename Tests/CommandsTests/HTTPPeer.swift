import Core

/// Reads requests as text, and sends a response to the first one that has any.
final class HTTPPeer: Engine {
    private let respond: (String) -> String?
    private let closes: Bool
    private(set) var request = ""
    private var output: [UInt8] = []
    private var hasResponded = false
    var isEstablished: Bool { true }
    var wantsDisconnect: Bool { hasResponded && closes }
    let nextDeadline: Instant? = nil

    /// - Parameter closes: whether it hangs up after its response.
    init(closes: Bool = true, respond: @escaping (String) -> String?) {
        self.closes = closes
        self.respond = respond
    }

    func transportOpened(at now: Instant) {}
    func transportClosed(_ failure: TransportError?, at now: Instant) {}
    func expire(at now: Instant) {}

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        request += String(decoding: Array(copying: bytes), as: UTF8.self)
        guard !hasResponded, let response = respond(request) else { return }
        output = Array(response.utf8)
        hasResponded = true
    }

    func drain(into queue: inout ByteQueue) {
        queue.append(output)
        output = []
    }
}
