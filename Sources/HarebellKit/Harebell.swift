import ArgumentParser
public import Decoding

/// The command line of Harebell, with decoders of one's own.
///
/// ```swift
/// @main
/// enum Main {
///     static func main() {
///         Harebell.main(decoders: [OrderDecoder.format])
///     }
/// }
/// ```
public enum Harebell {
    /// Runs the command that this process's arguments name, then ends the process with the command's exit code.
    ///
    /// Every command of `harebell` is there, and each knows the formats besides those that Harebell comes with: `run`
    /// reads messages with them, `check` holds their options against what they say of them, `decode` tries them, and
    /// `config --reference` lists their options.
    ///
    /// Two formats with one name, a name that cannot be a key of the configuration, or an option with a default that it
    /// does not take itself are mistakes in the program: it says so and ends with exit code 70.
    ///
    /// - Parameter formats: in the order in which the reference shows them.
    public static func main(decoders formats: [DecoderFormat] = []) -> Never {
        let path = CommandPath(Array(CommandLine.arguments.dropFirst()))
        do {
            let registry = try DecoderRegistry.builtIn.adding(formats)
            if let complaint = path.complaint { throw ValidationError(complaint) }
            let command = try RootCommand.parseAsRoot()
            guard type(of: command).configuration.subcommands.isEmpty else {
                complain(lines: path.help)
                RootCommand.exit(withError: ExitCode.validationFailure)
            }
            if var command = command as? any ConfiguredCommand {
                try command.run(registry)
            } else {
                var command = command
                try command.run()
            }
        } catch {
            // What the parser threw, or a command on purpose, has a code; anything else would end with 1.
            guard RootCommand.exitCode(for: error) == .failure else { Self.end(error, path) }
            complain("\(error)")
            RootCommand.exit(withError: Status.unforeseen(error))
        }
        RootCommand.exit()
    }

    /// Ends as the parser has it, with what it says escaped: it quotes arguments and names.
    private static func end(_ error: any Error, _ path: CommandPath) -> Never {
        let code = RootCommand.exitCode(for: error)
        let message =
            (error as? ValidationError).map { path.usageError($0.message) } ?? RootCommand.fullMessage(for: error)
        // An exit code alone says nothing.
        guard !message.isEmpty else { RootCommand.exit(withError: code) }
        if code == .success {
            // Help, or a script for a shell: our own text.
            say(raw: message)
        } else {
            complain(lines: message)
        }
        RootCommand.exit(withError: code)
    }
}
