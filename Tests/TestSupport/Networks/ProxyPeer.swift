package import Core

/// An HTTP proxy and its target, as one end of an in-memory link: answers CONNECT, then acts as the target.
///
/// It implements RFC 9110, section 9.3.6, independently of the client.
package final class ProxyPeer: Engine {
    private let decide: ([String]) -> (response: String, target: (any Engine)?)
    private var head: [UInt8] = []
    private var output: [UInt8] = []
    private var target: (any Engine)?
    private var isRefused = false

    /// - Parameter decide: gets the lines of a request; without a target the connection ends after the response.
    package init(_ decide: @escaping (_ request: [String]) -> (response: String, target: (any Engine)?)) {
        self.decide = decide
    }

    package func transportOpened(at now: Instant) {}

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        if let target { return target.receive(bytes, at: now) }
        head.append(bytes)
        let text = String(decoding: head, as: UTF8.self)
        // Bytes sent before the response would have been for the proxy.
        guard text.hasSuffix("\r\n\r\n") else { return }
        let (response, target) = decide(text.split(separator: "\r\n").map(String.init))
        output = Array("\(response)\r\n\r\n".utf8)
        self.target = target
        target?.transportOpened(at: now)
        isRefused = target == nil
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        target?.transportClosed(failure, at: now)
    }

    package func drain(into queue: inout ByteQueue) {
        queue.append(output)
        output = []
        target?.drain(into: &queue)
    }

    package var wantsDisconnect: Bool { target?.wantsDisconnect ?? isRefused }
    package var nextDeadline: Instant? { target?.nextDeadline }

    package func expire(at now: Instant) {
        target?.expire(at: now)
    }
}
