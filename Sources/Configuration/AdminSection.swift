import System

extension Configuration.Admin {
    /// Reads only this section of a file: an error elsewhere does not concern a worker that runs.
    ///
    /// - Returns: `nil` if the admin server is turned off.
    package static func load(path: String) throws(ConfigurationError) -> Configuration.Admin? {
        // Bytes that are not UTF-8 are errors elsewhere, too.
        let text = String(decoding: try ConfigurationDocument.content(path: path), as: UTF8.self)
        var reader = ConfigurationReader(file: path)
        reader.readSettings(try root(text, path))
        reader.problems = []
        guard reader.values["admin"] != .off, reader.values["admin.listen"] != .off else { return nil }
        guard let listen = reader.values.text("admin.listen").flatMap(Addresses.listener) else {
            throw ConfigurationDocument.error(
                path, reader.values.location(of: "admin.listen"),
                "admin.listen: expected a numeric address and a port, such as 127.0.0.1:9464")
        }
        let admin = Configuration.Admin(listen: listen, token: reader.adminToken())
        try reader.throwErrors()
        return admin
    }

    /// The file's tree; if the rest of the file is not valid YAML, that of the section's lines. `nil` if no line looks
    /// like the section's key: a worker without one serves the default address.
    private static func root(_ text: String, _ path: String) throws(ConfigurationError) -> YAMLNode? {
        let problem: YAMLError
        do throws(YAMLError) {
            return try YAMLParser.root(of: Array(text.utf8))
        } catch {
            problem = error
        }
        let key = #/^\u{FEFF}?(?:[^#]*[{,])?\s*["']?admin["']?\s*:(?:[\s"'{]|$)/#
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard let start = lines.firstIndex(where: { $0.contains(key) }) else { return nil }
        let indentation = lines[start].prefix { $0 == " " }.count
        let next = lines[(start + 1)...].firstIndex { line in
            let content = line.drop { $0 == " " }
            return !content.isEmpty && !content.hasPrefix("#") && line.count - content.count <= indentation
        }
        // The brace that closes the section need not be indented.
        let sections = [min((next ?? lines.count) + 1, lines.count), next ?? lines.count].map { end in
            String(repeating: "\n", count: start) + lines[start..<end].joined(separator: "\n")
        }
        // In JSON a comma follows the section, and the file's braces are around it.
        for section in sections + sections.map({ "{\($0)}" }) {
            let root = try? YAMLParser.root(of: Array(section.utf8))
            if root?.mapping?.contains(where: { $0.key.scalar?.string == "admin" }) == true { return root }
        }
        throw ConfigurationDocument.error(path, problem.location, "not YAML: \(problem.message)")
    }
}
