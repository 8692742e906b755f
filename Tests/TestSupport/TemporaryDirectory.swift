import Foundation

/// A private folder for one test, removed with its content when the last reference goes.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        // Short, since the path of a socket has at most 108 bytes; a collision by chance is negligible.
        let name = "harebell-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit {
        // A folder that was already removed, or cannot be, must not stop the other tests.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` in the folder.
    package func file(_ name: String) -> String {
        "\(path)/\(name)"
    }

    /// Writes a file that only its owner may read.
    ///
    /// - Returns: its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: file(name), contents: Data(bytes), attributes: attributes) else {
            throw TestSupportError("could not write \(file(name))")
        }
        return file(name)
    }
}
