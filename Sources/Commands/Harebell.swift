import ArgumentParser

/// The command line.
package enum Harebell {
    /// Runs the command in this process's arguments, then exits with the command's exit code.
    package static func main() -> Never {
        let path = CommandPath(Array(CommandLine.arguments.dropFirst()))
        do {
            if let complaint = path.complaint { throw ValidationError(complaint) }
            var command = try RootCommand.parseAsRoot()
            guard type(of: command).configuration.subcommands.isEmpty else {
                complain(lines: path.help)
                RootCommand.exit(withError: ExitCode.validationFailure)
            }
            try command.run()
            checkOutput()
        } catch {
            // Parser errors and intended exits have a code; other errors would exit with 1.
            guard RootCommand.exitCode(for: error) == .failure else { Self.end(error, path) }
            complain(lines: "\(error)")
            RootCommand.exit(withError: Status.code(of: error))
        }
        RootCommand.exit()
    }

    /// Exits like the parser, but escapes its message, which quotes arguments and names.
    private static func end(_ error: any Error, _ path: CommandPath) -> Never {
        let code = RootCommand.exitCode(for: error)
        let message =
            (error as? ValidationError).map { path.usageError($0.message) } ?? RootCommand.fullMessage(for: error)
        // A bare exit code has no message.
        guard !message.isEmpty else { RootCommand.exit(withError: code) }
        if code == .success {
            // Help, or a shell completion script: our own text.
            printLine(raw: message)
            checkOutput()
        } else {
            complain(lines: message)
        }
        RootCommand.exit(withError: code)
    }
}
