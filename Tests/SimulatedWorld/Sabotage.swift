package import Core

/// A defect that a worker could have, made by changing its traffic with the broker: it shows whether the ``Checker``
/// detects it.
package enum Sabotage: CaseIterable {
    /// Deliveries are acknowledged as they arrive.
    case settlesAtOnce
    case settlesTwice
    case neverSettles
    /// One publish is lost in the worker, which believes that it was confirmed.
    case losesResult, losesDeadLetter, losesFeedback, losesRetry
    case publishesTwice
    /// Results say "not processed" for notifications that APNs has answered.
    case deniesProcessing

    /// A part of the checker's complaint.
    package var complaint: String {
        switch self {
        case .settlesAtOnce: "was settled with 0 of"
        case .settlesTwice: "the protocol was broken"
        case .neverSettles: "not everything is finished"
        case .losesResult, .losesRetry: "results confirmed"
        case .losesDeadLetter: "without a dead letter"
        case .losesFeedback: "without feedback"
        case .publishesTwice: "results instead of"
        case .deniesProcessing: "says that it was not processed"
        }
    }

    /// The queue of the publish that is lost or repeated, or a prefix of its name.
    fileprivate var queue: String? {
        switch self {
        case .losesResult, .publishesTwice: "push.results"
        case .losesDeadLetter: "push.dead"
        case .losesFeedback: "push.feedback"
        case .losesRetry: "push.requests.retry."
        case .settlesAtOnce, .settlesTwice, .neverSettles, .deniesProcessing: nil
        }
    }
}

/// A worker's end of an AMQP connection with a defect. Each connection loses or repeats at most one publish.
package final class SabotagedEngine: Engine {
    private let engine: any Engine
    private let sabotage: Sabotage
    private var said = AMQPFrames(skipping: 8)
    private var heard = AMQPFrames()
    /// Frames sent without the worker's knowledge, and frames that only it receives.
    private var added: [[UInt8]] = []
    private var believed: [[UInt8]] = []
    /// The number of the worker's publishes, and the one that was lost or repeated.
    private var publishes: UInt64 = 0
    private var victim: UInt64?
    /// The frames of the current publish, and the outstanding bytes of its body.
    private var publish: [[UInt8]] = []
    private var missing = 0

    package init(_ engine: any Engine, _ sabotage: Sabotage) {
        self.engine = engine
        self.sabotage = sabotage
    }

    package func transportOpened(at now: Instant) { engine.transportOpened(at: now) }
    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        engine.transportClosed(failure, at: now)
    }
    package var isEstablished: Bool { engine.isEstablished }
    package var wantsDisconnect: Bool { engine.wantsDisconnect }

    package var nextDeadline: Instant? {
        believed.isEmpty ? engine.nextDeadline : Instant(nanoseconds: 0)
    }

    package func expire(at now: Instant) {
        let frames = believed
        believed = []
        for frame in frames { engine.receive(frame.span, at: now) }
        if let due = engine.nextDeadline, due <= now { engine.expire(at: now) }
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        var all = ByteQueue()
        all.append(bytes)
        for frame in heard.append(all.copy()) {
            guard let changed = hear(frame) else { continue }
            engine.receive(changed.span, at: now)
        }
    }

    package func drain(into output: inout ByteQueue) {
        var all = ByteQueue()
        engine.drain(into: &all)
        for frame in said.append(all.copy()) {
            for frame in forward(frame) { output.append(frame.span) }
        }
        for frame in added { output.append(frame.span) }
        added = []
    }

    // MARK: Frame changes

    private func hear(_ frame: [UInt8]) -> [UInt8]? {
        switch AMQPFrames.method(frame) {
        case .deliver where sabotage == .settlesAtOnce:
            let tag = 12 + Int(frame[11])
            added.append(AMQPFrames.ack(frame[tag..<tag + 8]))
        case .ack: return renumbered(frame)
        default: break
        }
        return frame
    }

    /// The confirm that the broker would send if the victim had been published once.
    private func renumbered(_ frame: [UInt8]) -> [UInt8]? {
        guard let victim else { return frame }
        var tag = frame[11..<19].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        if sabotage == .publishesTwice {
            if tag == victim + 1 { return nil }
            if tag > victim { tag -= 1 }
        } else if tag >= victim {
            tag += 1
        }
        return Array(frame[..<11]) + AMQPFrames.bytes(tag) + Array(frame[19...])
    }

    /// A copy of the frame of the same length.
    private func denying(_ frame: [UInt8]) -> [UInt8] {
        let claim = Array(#""processed":"yes""#.utf8)
        guard let place = frame.firstRange(of: claim) else { return frame }
        var frame = frame
        frame.replaceSubrange(place, with: Array(#""processed":"no" "#.utf8))
        return frame
    }

    private func forward(_ frame: [UInt8]) -> [[UInt8]] {
        if sabotage == .deniesProcessing { return [denying(frame)] }
        switch AMQPFrames.method(frame) {
        case .ack where sabotage == .settlesAtOnce || sabotage == .neverSettles: return []
        case .ack where sabotage == .settlesTwice: return [frame, frame]
        case .publish:
            publishes += 1
            guard victim == nil, let queue = sabotage.queue, AMQPFrames.routingKey(frame).hasPrefix(queue)
            else { break }
            victim = publishes
            publish = [frame]
            return []
        default: break
        }
        guard !publish.isEmpty else { return [frame] }
        if frame[0] == 2 {
            missing = frame[11..<19].reduce(0) { $0 << 8 | Int($1) }
        } else {
            missing -= frame.count - 8
        }
        publish.append(frame)
        guard missing == 0 else { return [] }
        defer { publish = [] }
        if sabotage == .publishesTwice { return publish + publish }
        believed.append(AMQPFrames.ack(AMQPFrames.bytes(publishes)[...]))
        return []
    }
}

/// Bytes of an AMQP connection, frame by frame.
private struct AMQPFrames {
    enum Method { case deliver, publish, ack, other }

    private var rest: [UInt8] = []
    /// The protocol header that comes before the first frame.
    private var header: Int

    init(skipping header: Int = 0) {
        self.header = header
    }

    /// - Returns: The complete frames.
    mutating func append(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var frames: [[UInt8]] = []
        while true {
            var size = header
            if size == 0 {
                guard rest.count >= 7 else { break }
                size = rest[3..<7].reduce(0) { $0 << 8 | Int($1) } + 8
            }
            guard rest.count >= size else { break }
            header = 0
            frames.append(Array(rest.prefix(size)))
            rest.removeFirst(size)
        }
        return frames
    }

    static func method(_ frame: [UInt8]) -> Method {
        guard frame.count >= 12, frame[0] == 1, frame[7] == 0, frame[8] == 60, frame[9] == 0 else { return .other }
        return switch frame[10] {
        case 40: .publish
        case 60: .deliver
        case 80: .ack
        default: .other
        }
    }

    static func routingKey(_ frame: [UInt8]) -> String {
        let key = 14 + Int(frame[13])
        return String(decoding: frame[(key + 1)...].prefix(Int(frame[key])), as: UTF8.self)
    }

    /// `basic.ack` of one tag, on channel 1.
    static func ack(_ tag: ArraySlice<UInt8>) -> [UInt8] {
        [1, 0, 1, 0, 0, 0, 13, 0, 60, 0, 80] + tag + [0, 0xCE]
    }

    static func bytes(_ tag: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: tag >> UInt64($0)) }
    }
}
