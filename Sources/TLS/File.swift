import Core
import Files
import Glibc

/// Reads the small files that hold certificates and keys.
enum File {
    /// The most that is read of one file, in bytes: the largest CA bundles in use have about 300 KiB.
    static let maximumSize = 8 * 1024 * 1024

    /// The whole file; `what` names it in the error (`the certificate file`).
    static func text(_ path: String, _ what: String) throws(TLSError) -> String {
        try String(decoding: bytes(path, what), as: UTF8.self)
    }

    /// The whole file; `what` names it in the error (`the certificate file`).
    static func bytes(_ path: String, _ what: String) throws(TLSError) -> [UInt8] {
        do {
            return try WholeFile.read(path, upTo: maximumSize)
        } catch {
            let reason: String
            switch error {
            case .system(let text): reason = text
            case .tooLarge: reason = unsafe String(cString: strerror(EFBIG))
            }
            throw TLSError(.unreadableFile, "cannot read \(what) \(path): \(reason)", blame: .local)
        }
    }
}
