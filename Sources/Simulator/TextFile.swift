import Glibc

/// Whole files as text.
enum TextFile {
    /// Bytes; a script or a key is far smaller.
    static let maximumSize = 16 << 20

    /// - Parameter neighbour: a relative `path` starts from this file's folder.
    static func read(_ path: String, beside neighbour: String? = nil) throws(SimulatorError) -> String {
        var path = path
        if let neighbour, !path.hasPrefix("/"), let slash = neighbour.lastIndex(of: "/") {
            path = neighbour[...slash] + path
        }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("read", path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe block.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("read", path)
            }
            bytes += block[..<count]
            guard bytes.count <= maximumSize else { throw SimulatorError(.file, "\(path) is larger than 16 MiB") }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces the file, readable by everyone.
    static func write(_ text: String, to path: String) throws(SimulatorError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("write", path) }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("write", path)
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func failure(_ verb: String, _ path: String) -> SimulatorError {
        let reason = unsafe String(cString: strerror(errno))
        return SimulatorError(.file, "cannot \(verb) \(path): \(reason)")
    }
}
