package import Core
package import System

/// Reads the configuration file and the files it references.
package enum ConfigurationFiles {
    /// Far above the size of any configuration, key, secret or CA bundle, in bytes.
    static let maximumSize = 4 * 1024 * 1024

    static func read(_ path: String) throws(WholeFile.Failure) -> [UInt8] {
        try WholeFile.read(path, upTo: maximumSize)
    }

    /// The secret that a file holds now.
    package static func secret(in file: FilePath) -> Result<Secret, Complaint> {
        do {
            return .success(try secret(read(file.path)))
        } catch {
            return .failure(Complaint("\(error)"))
        }
    }

    /// The secret in a file; trailing line ends are removed.
    static func secret(_ content: [UInt8]) throws(Complaint) -> Secret {
        var content = content[...]
        while let last = content.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { content.removeLast() }
        guard !content.isEmpty else { throw Complaint("the file is empty") }
        guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
            throw Complaint("the file is not text")
        }
        return Secret(text)
    }
}
