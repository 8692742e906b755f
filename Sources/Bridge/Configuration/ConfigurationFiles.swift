import Glibc

/// Reads the files that a configuration is made of and names.
enum ConfigurationFiles {
    /// Far above every configuration, key, secret or bundle of certificates.
    static let maximumSize = 4 * 1024 * 1024

    struct Failure: Error, Equatable {
        /// The system's sentence, or why the content is of no use.
        let message: String
    }

    /// - Returns: the whole file; it may be a pipe.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(message: message(of: errno)) }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(message: message(of: errno))
            }
            content.append(contentsOf: buffer[..<count])
            guard content.count <= maximumSize else { throw Failure(message: "larger than \(maximumSize) bytes") }
        }
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

    /// A relative path starts at the folder of the configuration file.
    static func resolve(_ path: String, against file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }

    private static func message(of code: Int32) -> String {
        unsafe String(cString: strerror(code))
    }
}
