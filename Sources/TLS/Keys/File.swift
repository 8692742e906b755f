import Core
import System

/// Reads small files with certificates and keys.
enum File {
    /// The maximum size of a file, in bytes: the largest CA bundles in use have about 300 KiB.
    static let maximumSize = 8 * 1024 * 1024

    /// The content as text; `what` names the file in errors (`the certificate file`).
    static func text(_ file: FilePath, _ what: String) throws(TLSError) -> String {
        try String(decoding: bytes(file, what), as: UTF8.self)
    }

    static func bytes(_ file: FilePath, _ what: String) throws(TLSError) -> [UInt8] {
        do {
            return try WholeFile.read(file.path, upTo: maximumSize)
        } catch {
            throw TLSError(.unreadableFile, "cannot read \(what) \(file): \(error)")
        }
    }
}
