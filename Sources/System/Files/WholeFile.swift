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
        let descriptor = try openRegular(path)
        return try read(descriptor.number, upTo: limit)
    }

    /// Opens a regular file for reading; symbolic links are followed.
    ///
    /// `O_NONBLOCK`, because opening a FIFO blocks until it has a writer.
    ///
    /// - Throws: ``Failure/notRegular`` for a FIFO, a device, a socket or a directory.
    static func openRegular(_ path: String) throws(Failure) -> Descriptor {
        let number = unsafe open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard number >= 0 else {
            // `open` fails for a socket.
            throw errno == ENXIO ? .notRegular : lastFailure()
        }
        let descriptor = Descriptor(adopting: number)
        var information = stat()
        guard unsafe fstat(number, &information) == 0 else { throw lastFailure() }
        guard information.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        return descriptor
    }

    /// As ``read(_:upTo:)``, but `-` and `/dev/stdin` read standard input, which may be a pipe or a terminal.
    package static func read(fileOrStandardInput path: String, upTo limit: Int) throws(Failure) -> [UInt8] {
        try standardInput.contains(path) ? read(STDIN_FILENO, upTo: limit) : read(path, upTo: limit)
    }

    private static func read(_ descriptor: Int32, upTo limit: Int) throws(Failure) -> [UInt8] {
        var content: [UInt8] = []
        while true {
            let block = try readBlock(descriptor)
            if block.isEmpty { return content }
            content += block
            guard content.count <= limit else { throw .tooLarge(limit: limit) }
        }
    }

    /// - Returns: the next bytes; none at the end.
    static func readBlock(_ descriptor: Int32) throws(Failure) -> ArraySlice<UInt8> {
        var block = [UInt8](repeating: 0, count: 65536)
        let read = unsafe block.withUnsafeMutableBytes { block in
            Transfer.of { unsafe Glibc.read(descriptor, block.baseAddress, block.count) }
        }
        guard case .bytes(let count) = read else { throw lastFailure() }
        return block[..<count]
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
            let written = unsafe rest.withUnsafeBytes { bytes in
                Transfer.of { unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
            }
            guard case .bytes(let count) = written else { throw lastFailure() }
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
