package import Core
import Decoding
package import TestSupport

/// In-memory programs, on a network's virtual time.
package final class MemoryPrograms: ProgramHost {
    /// A program's reaction to a message.
    package enum Conduct {
        /// Responds with these members, in addition to the id.
        case response(String)
        /// Ends at once.
        case crash
        /// Sends nothing more.
        case hang
        /// Sends this in place of a response.
        case write([UInt8])
    }

    package static let endpoint = Endpoint(host: "a program", port: 0)

    /// By the message's body.
    package var conduct: (String) -> Conduct = { .response(#""requests":[\#($0)]"#) }
    /// The first output.
    package var hello: [UInt8]? = MemoryPrograms.frame(#"{"hello":{"protocol":1}}"#)
    /// Whether such a program exists.
    package var canStart = true
    /// Every body sent to it, in batches as they came.
    package fileprivate(set) var asked: [[String]] = []
    package private(set) var starts = 0
    private unowned let network: MemoryNetwork
    /// Programs to end after the current turn, as a process does.
    private var stopped: [any ProgramEngine] = []

    package init(_ network: MemoryNetwork) {
        self.network = network
    }

    package static func frame(_ json: String) -> [UInt8] {
        let length = UInt32(json.utf8.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + Array(json.utf8)
    }

    package func accept(_ endpoint: Endpoint) -> (any Engine)? {
        guard endpoint == Self.endpoint, canStart else { return nil }
        starts += 1
        return MemoryProgram(self)
    }

    package func kill() {
        network.cutAll(to: Self.endpoint)
    }

    // MARK: ProgramHost

    package func start(_ program: Program, _ engine: any ProgramEngine) {
        network.connect(engine, to: Self.endpoint, timeout: .zero)
    }

    package func stop(_ engine: any ProgramEngine, within grace: Duration) {
        stopped.append(engine)
    }

    /// Ends the stopped programs.
    ///
    /// - Returns: whether there were any.
    package func endStopped() -> Bool {
        let ended = stopped
        stopped = []
        for link in network.links where ended.contains(where: { link.client === $0 }) { network.cut(link) }
        return !ended.isEmpty
    }
}

/// One run of a program.
private final class MemoryProgram: Engine {
    private unowned let programs: MemoryPrograms
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    var isEstablished: Bool { true }
    private(set) var wantsDisconnect = false
    private var hangs = false

    init(_ programs: MemoryPrograms) {
        self.programs = programs
    }

    func transportOpened(at now: Instant) {
        output += programs.hello ?? []
    }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        input += Array(copying: bytes)
        while input.count >= 4, !hangs {
            let length = input.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard input.count >= 4 + length else { return }
            take(ArraySlice(Array(input[4..<4 + length])))
            input.removeFirst(4 + length)
        }
    }

    private func take(_ frame: ArraySlice<UInt8>) {
        guard let part = try? JSONPart(frame), let messages = part["messages"]?.elements else { return }
        let bodies = messages.map { string($0["body"]?.text) ?? "" }
        programs.asked.append(bodies)
        var responses: [String] = []
        for (message, body) in zip(messages, bodies) {
            switch programs.conduct(body) {
            case .response(let members):
                responses.append("{\"id\":\(message["id"]?.integer ?? -1),\(members)}")
            case .write(let bytes): output += bytes
            case .hang: hangs = true
            case .crash:
                hangs = true
                wantsDisconnect = true
            }
            if hangs { return }
        }
        output += MemoryPrograms.frame("{\"answers\":[\(responses.joined(separator: ","))]}")
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {}

    func drain(into output: inout ByteQueue) {
        output.append(self.output)
        self.output = []
    }

    var nextDeadline: Instant? { nil }
    func expire(at now: Instant) {}
}
