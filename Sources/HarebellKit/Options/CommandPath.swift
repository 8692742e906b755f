import ArgumentParser
import Settings

/// The command that the arguments name, with those above it.
struct CommandPath {
    private var commands: [any ParsableCommand.Type] = [RootCommand.self]
    /// The word in the place of a command that is not one.
    let unknown: String?

    init(_ arguments: [String]) {
        var unknown: String?
        for word in arguments {
            let choices = commands.last?.configuration.subcommands ?? []
            guard !choices.isEmpty, !word.hasPrefix("-") else { break }
            guard let command = choices.first(where: { $0._commandName == word }) else {
                // The parser adds this command.
                unknown = word == "help" ? nil : word
                break
            }
            commands.append(command)
        }
        self.unknown = unknown
    }

    private var command: any ParsableCommand.Type { commands.last ?? RootCommand.self }

    var help: String { RootCommand.helpMessage(for: command) }

    /// The error with the usage of this command.
    func usageError(_ message: String) -> String {
        let name = commands.map { $0._commandName }.joined(separator: " ")
        return """
            Error: \(message)
            Usage: \(RootCommand.usageString(for: command))
              See '\(name) --help' for more information.
            """
    }

    /// What is wrong with ``unknown``.
    var complaint: String? {
        guard let unknown else { return nil }
        let names = command.configuration.subcommands.map { $0._commandName }
        let question = Suggestion.question(Suggestion.completion(of: unknown, among: names))
        return "unknown command \"\(unknown)\"" + (question.map { "; \($0)" } ?? "")
    }
}
