import Core

@testable import Configuration

/// One app, the required minimum of a configuration.
let oneApp = """
    apps:
      - topic: com.example.app
        token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
    """

func document(
    _ text: String, file: String = "harebell.yaml", environment: [String: String] = [:], files: [String: String] = [:]
) throws(ConfigurationError) -> ConfigurationDocument {
    try ConfigurationDocument(
        content: Array(text.utf8), file: file, environment: { environment[$0] },
        readFile: { path in
            guard let content = files[path] else { throw Complaint("No such file or directory") }
            return Array(content.utf8)
        })
}

func configuration(_ text: String) throws -> Configuration {
    try document(text).configuration
}

/// Every error of a text, one per line.
func errors(_ text: String, environment: [String: String] = [:], files: [String: String] = [:]) -> [String] {
    do {
        _ = try document(text, environment: environment, files: files)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

func warnings(_ text: String) throws -> [String] {
    try document(text).warnings.map(\.description)
}
