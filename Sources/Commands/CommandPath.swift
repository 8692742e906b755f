import ArgumentParser
import Core

/// The command in the arguments, with its parent commands.
struct CommandPath {
    private var commands: [any ParsableCommand.Type] = [RootCommand.self]
    /// An unknown word in the position of a command.
    private var unknown: String?

    init(_ arguments: [String]) {
        // The parser adds the command "help", whose arguments are commands.
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        for word in words {
            let choices = command.configuration.subcommands
            guard !choices.isEmpty, !word.hasPrefix("-") else { break }
            guard let command = choices.first(where: { $0._commandName == word }) else {
                unknown = word
                break
            }
            commands.append(command)
        }
    }

    private var command: any ParsableCommand.Type { commands.last ?? RootCommand.self }

    var help: String { RootCommand.helpMessage(for: command) }

    /// An error followed by this command's usage.
    func usageError(_ message: String) -> String {
        let name = commands.map { $0._commandName }.joined(separator: " ")
        return """
            Error: \(message)
            Usage: \(RootCommand.usageString(for: command))
              See '\(name) --help' for more information.
            """
    }

    var complaint: String? {
        guard let unknown else { return nil }
        let names = command.configuration.subcommands.map { $0._commandName }
        let question = Suggestion.question(Suggestion.completion(of: unknown, among: names))
        return "unknown command \"\(unknown)\"" + (question.map { "; \($0)" } ?? "")
    }
}
