package import Core

/// `process`: a separate program decodes the messages. See docs/produce/decoders/process.md.
///
/// It cannot answer synchronously, so a worker uses a ``DecoderProgram`` instead.
package struct ProcessDecoder: Decoder {
    package let options: Options

    package struct Options: Equatable, Sendable {
        package var program: Program
        package var queue = DecodingQueue.Limits()
        /// The time limit for its `hello`.
        package var startTime = Duration.seconds(10)
        /// The delay before a restart: the first, and the maximum.
        package var restartPause = Duration.milliseconds(100)
        package var longestRestartPause = Duration.seconds(30)

        package init(program: Program) {
            self.program = program
        }
    }

    /// For callers that need a synchronous result.
    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        .reject(DecodingFailure("this message needs a decoder process, which does not run here"))
    }
}
