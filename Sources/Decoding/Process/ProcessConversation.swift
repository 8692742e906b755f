package import Core
import DequeModule

/// The protocol with one run of a decoder program: frames in and out, and lines of its standard error.
package final class ProcessConversation: ProgramEngine {
    enum Event {
        case frame(ArraySlice<UInt8>)
        /// It does not keep to the protocol.
        case violation(String)
        case line(String)
        case ended(TransportError?)
    }

    /// Nothing is added while more than this, in bytes, is unread by the program.
    static let unreadLimit = 256 * 1024
    /// The maximum length of a line of standard error, in bytes.
    static let maximumLine = 500
    /// The maximum size of a frame from the program, in bytes.
    private static let maximumFrame = 4_194_304

    private var events = Deque<Event>()
    private var output = ByteQueue()
    /// The beginning of a frame with its length prefix.
    private var input: [UInt8] = []
    private var line: [UInt8] = []
    var ignoresInput = false
    /// Whether its standard input is closed once everything is written.
    var isEnding = false

    init() {
        output.append(ProcessFrame.hello)
    }

    func nextEvent() -> Event? {
        events.popFirst()
    }

    var hasRoom: Bool { output.count < Self.unreadLimit }

    func send(_ frame: [UInt8]) {
        output.append(frame)
    }

    // MARK: ProgramEngine

    package func transportOpened(at now: Instant) {}

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        guard !ignoresInput else { return }
        input.append(bytes)
        var rest = input[...]
        while !ignoresInput, rest.count >= ProcessFrame.prefix {
            let prefix = rest.prefix(ProcessFrame.prefix)
            let length = prefix.reduce(0) { $0 << 8 | Int($1) }
            guard length <= Self.maximumFrame else {
                ignoresInput = true
                let isText = prefix.allSatisfy { 0x20...0x7E ~= $0 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
                let text = ControlCharacters.escaped(String(decoding: prefix, as: UTF8.self), quotes: true)
                return events.append(
                    .violation(
                        isText
                            ? "it wrote the text \"\(text)…\" to standard output, which is for frames: write messages "
                                + "to standard error"
                            : "a frame of \(length) bytes, more than \(Self.maximumFrame)"))
            }
            let frame = rest.dropFirst(ProcessFrame.prefix).prefix(length)
            guard frame.count == length else { break }
            events.append(.frame(frame))
            rest = rest[frame.endIndex...]
        }
        // Frames keep the old storage.
        if rest.count < input.count { input = Array(rest) }
    }

    package func complained(_ bytes: Span<UInt8>, at now: Instant) {
        for place in bytes.indices {
            if bytes[place] == UInt8(ascii: "\n") {
                endLine()
            } else if line.count < Self.maximumLine {
                line.append(bytes[place])
            }
        }
    }

    private func endLine() {
        guard !line.isEmpty else { return }
        events.append(.line(String(decoding: line, as: UTF8.self)))
        line = []
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        endLine()
        events.append(.ended(failure))
    }

    package func drain(into output: inout ByteQueue) {
        output.append(moving: &self.output)
    }

    package var wantsDisconnect: Bool { isEnding && output.isEmpty }

    /// The owner handles deadlines.
    package var nextDeadline: Instant? { nil }

    package func expire(at now: Instant) {}
}
