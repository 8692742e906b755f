/// A program that is to run beside this one.
package struct Program: Sendable, Equatable {
    /// The program, looked for in `PATH` unless its name has a slash, and its arguments.
    package var command: [String]
    /// `NAME=value`; it has no others but `PATH` and `LANG`, as this program has them.
    package var environment: [String]
    /// What messages call it.
    package var name: String

    /// - Parameter name: `nil` takes the first word of the command.
    package init(command: [String], environment: [String] = [], name: String? = nil) {
        precondition(!command.isEmpty, "a command begins with a program")
        self.name = name ?? command[0]
        self.command = command
        self.environment = environment
    }
}

/// Our end of one life of a program: its standard input and output are the transport.
package protocol ProgramEngine: Engine {
    /// Bytes that it wrote to standard error. They are only lent.
    func complained(_ bytes: Span<UInt8>, at now: Instant)
}

/// What runs programs, and carries bytes between them and engines: an event loop with processes, or a test's memory.
package protocol ProgramHost: AnyObject {
    /// Starts a program and drives `engine` over its standard input and output. The engine is told its end, or why it
    /// could not be started, by ``Engine/transportClosed(_:at:)``, once, and never before this call has returned.
    func start(_ program: Program, _ engine: any ProgramEngine)

    /// Asks the program to end, and forces it to after so long; at once where that is zero. The engine is told the end.
    func stop(_ engine: any ProgramEngine, within grace: Duration)
}
