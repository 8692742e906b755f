package struct Program: Sendable, Equatable {
    /// The program and its arguments. It is searched in `PATH` unless its name contains a slash, and inherits only
    /// `PATH` and `LANG`.
    package var command: [String]
    /// Its name in messages.
    package var name: String

    /// - Parameter name: `nil` uses the first word of the command.
    package init(command: [String], name: String? = nil) {
        precondition(!command.isEmpty, "a command must start with a program")
        self.name = name ?? command[0]
        self.command = command
    }
}

/// The local end of one run of a program, with the program's standard input and output as the transport.
package protocol ProgramEngine: Engine {
    /// Receives standard error output, borrowed for the call.
    func complained(_ bytes: Span<UInt8>, at now: Instant)
}

extension ProgramEngine {
    /// A program has no addresses to choose from.
    package var isEstablished: Bool { true }
}

/// Runs programs and carries bytes between them and engines: an event loop with processes, or a test's memory.
package protocol ProgramHost: AnyObject {
    /// Starts a program and drives `engine` over its standard input and output. ``Engine/transportClosed(_:at:)``
    /// reports the program's exit or start failure, once, never before this call has returned.
    func start(_ program: Program, _ engine: any ProgramEngine)

    /// Asks the program to exit, and kills it after `grace`; immediately if that is zero. The engine is notified of
    /// the exit.
    func stop(_ engine: any ProgramEngine, within grace: Duration)
}
