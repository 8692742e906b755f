package import Core

/// An HTTP proxy with what stands behind it, as one end of a link in memory: answers CONNECT, then is the target.
///
/// It is another reading of RFC 9110, section 9.3.6, than the client's.
package final class ProxyPeer: Engine {
    private let decide: ([String]) -> (answer: String, target: (any Engine)?)
    private var head: [UInt8] = []
    private var output: [UInt8] = []
    private var target: (any Engine)?
    private var isRefused = false

    /// - Parameter decide: is given the lines of a request; no target ends the connection after the answer.
    package init(_ decide: @escaping (_ request: [String]) -> (answer: String, target: (any Engine)?)) {
        self.decide = decide
    }

    package func transportOpened(at now: Instant) {}

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        if let target { return target.receive(bytes, at: now) }
        head.append(bytes)
        let text = String(decoding: head, as: UTF8.self)
        // A client that said more before it was answered would have said it to the proxy.
        guard text.hasSuffix("\r\n\r\n") else { return }
        let (answer, target) = decide(text.split(separator: "\r\n").map(String.init))
        output = Array("\(answer)\r\n\r\n".utf8)
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
