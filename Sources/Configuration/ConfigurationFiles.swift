package import System

/// Reads the files that a configuration is made of and names.
package enum ConfigurationFiles {
    /// Far above every configuration, key, secret or bundle of certificates.
    static let maximumSize = 4 * 1024 * 1024

    package struct Failure: Error, Equatable {
        /// The system's sentence, or why the content is of no use.
        package let message: String

        package init(message: String) {
            self.message = message
        }
    }

    /// - Returns: the whole file.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        do {
            return try WholeFile.read(path, upTo: maximumSize)
        } catch {
            switch error {
            case .tooLarge: throw Failure(message: "larger than \(maximumSize) bytes")
            case .system, .notRegular: throw Failure(message: error.description)
            }
        }
    }

    /// The secret that a file holds now.
    package static func secret(in file: FilePath) -> Result<Secret, Failure> {
        Result { () throws(Failure) in try secret(read(file.path)) }
    }

    /// A file that holds one secret; line ends after it do not belong to it.
    static func secret(_ content: [UInt8]) throws(Failure) -> Secret {
        var content = content[...]
        while let last = content.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { content.removeLast() }
        guard !content.isEmpty else { throw Failure(message: "the file is empty") }
        guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
            throw Failure(message: "the file is not text")
        }
        return Secret(text)
    }
}
