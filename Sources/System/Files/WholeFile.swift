import Glibc

/// Reads and writes small files completely: certificates, keys, secrets, configurations, scripts, payloads.
package enum WholeFile {
    package enum Failure: Error, Equatable, CustomStringConvertible {
        /// The system's message, from strerror(3).
        case system(String)
        case tooLarge(limit: Int)
        /// A FIFO, a device, a socket or a directory.
        case notRegular

        package var description: String {
            switch self {
            case .system(let text): text
            case .tooLarge(let limit): "it is larger than \(limit) bytes"
            case .notRegular: "it is not a regular file"
            }
        }
    }

    /// The names of standard input on a command line.
    private static let standardInput: Set = ["-", "/dev/stdin"]

    /// Reads a regular file; symbolic links are followed.
    ///
    /// - Parameter limit: bytes; reading stops at a larger size.
    package static func read(_ path: String, upTo limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = try RegularFile.open(path)
        return try read(descriptor.number, upTo: limit)
    }

    /// As above, but `-` and `/dev/stdin` read standard input, which may be a pipe or a terminal.
    package static func read(fileOrStandardInput path: String, upTo limit: Int) throws(Failure) -> [UInt8] {
        try standardInput.contains(path) ? read(STDIN_FILENO, upTo: limit) : read(path, upTo: limit)
    }

    private static func read(_ descriptor: Int32, upTo limit: Int) throws(Failure) -> [UInt8] {
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe block.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR { continue }
                throw lastFailure()
            }
            content += block[..<count]
            guard content.count <= limit else { throw .tooLarge(limit: limit) }
        }
    }

    /// Replaces the file, readable by everyone.
    package static func write(_ content: some Collection<UInt8>, to path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw lastFailure() }
        defer { close(descriptor) }
        try write(Array(content)[...], to: descriptor)
    }

    static func write(_ content: ArraySlice<UInt8>, to descriptor: Int32) throws(Failure) {
        var rest = content
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw lastFailure()
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Resolves a path in a file: a relative one is relative to that file's folder.
    package static func path(_ path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }

    /// The last system call's.
    package static func lastFailure() -> Failure {
        .system(unsafe String(cString: strerror(errno)))
    }
}
