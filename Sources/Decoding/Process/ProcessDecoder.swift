package import Core
import Settings

/// `process`: a separate program decodes the messages. See docs/produce/decoders/process.md.
///
/// It cannot answer synchronously, so a worker uses a ``DecoderProcess`` instead.
package struct ProcessDecoder: Decoder {
    package let name = "process"
    package let options: Options

    package struct Options: Sendable {
        package var program: Program
        package var queue = DecodingQueue.Limits()
        /// The maximum size of a frame from the program, in bytes.
        package var maximumResponseFrame = 4_194_304
        /// The time limit for its `hello`.
        package var startTime = Duration.seconds(10)
        /// The delay before a restart: the first, and the maximum.
        package var restartPause = Duration.milliseconds(100)
        package var longestRestartPause = Duration.seconds(30)

        package init(program: Program) {
            self.program = program
        }
    }

    package static let format = DecoderFormat(
        "process", version: "1.0.0",
        "A program in any language that decodes messages over standard input and output.",
        [
            Setting(
                "command", .texts(bytes: 1...4096, count: 1...64), default: nil,
                "The program, searched in PATH unless its name has a slash, and its arguments; without a shell."),
            Setting(
                "deadline_milliseconds", .integer(1...600_000), default: "5000",
                "Time limit for a batch; then the program is killed and started again."),
        ]
    ) { options in
        ProcessDecoder(options: Options(&options))
    }

    /// For callers that need a synchronous result.
    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        .reject(DecodingFailure("this message needs a decoder process, which does not run here"))
    }
}

extension ProcessDecoder.Options {
    init(_ options: inout DecoderOptions) {
        let command = options.values.texts("command") ?? []
        if command.isEmpty { options.report("command", "expected a program and its arguments") }
        for (index, argument) in command.enumerated() where argument.utf8.contains(0) {
            options.report("command[\(index)]", "expected no zero byte")
        }
        self.init(
            program: Program(
                command: command.isEmpty ? ["none"] : command, name: options.values.written("command[0]")))
        if let deadline = options.values.integer("deadline_milliseconds") { queue.deadline = .milliseconds(deadline) }
    }
}
