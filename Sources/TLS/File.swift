import Core
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
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, what, errno) }
        defer { _ = close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= maximumSize {
            var count = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 65536) { room, filled in
                count = unsafe Glibc.read(descriptor, room.baseAddress, room.count)
                filled = max(0, count)
            }
            guard count >= 0 else { throw failure(path, what, errno) }
            guard count > 0 else { return bytes }
            bytes += chunk
        }
        throw failure(path, what, EFBIG)
    }

    private static func failure(_ path: String, _ what: String, _ number: Int32) -> TLSError {
        let reason = unsafe String(cString: strerror(number))
        return TLSError(.unreadableFile, "cannot read \(what) \(path): \(reason)", blame: .local)
    }
}
