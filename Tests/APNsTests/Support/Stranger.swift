import Core

/// A peer that replies to the first bytes with fixed bytes, whatever they were.
final class Stranger: Engine {
    private let response: [UInt8]
    private var hasHeard = false
    private var hasSpoken = false
    private let hangsUp: Bool

    init(_ response: [UInt8], hangsUp: Bool = true) {
        self.response = response
        self.hangsUp = hangsUp
    }

    func transportOpened(at now: Instant) {}

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        hasHeard = true
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {}

    func drain(into output: inout ByteQueue) {
        guard hasHeard, !hasSpoken else { return }
        hasSpoken = true
        output.append(response)
    }

    var isEstablished: Bool { true }
    var wantsDisconnect: Bool {
        hasSpoken && hangsUp
    }

    var nextDeadline: Instant? { nil }

    func expire(at now: Instant) {}
}
