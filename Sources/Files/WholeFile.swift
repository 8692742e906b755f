import Glibc

/// Small files, read and written whole: certificates, keys, secrets, configurations, scripts, payloads.
package enum WholeFile {
    package enum Failure: Error, Equatable, CustomStringConvertible {
        /// The system's sentence, as of strerror(3).
        case system(String)
        case tooLarge

        package var description: String {
            switch self {
            case .system(let text): text
            case .tooLarge: "it is too large"
            }
        }
    }

    /// - Parameters:
    ///   - path: may be a pipe.
    ///   - limit: bytes; a file with more is not read on.
    package static func read(_ path: String, upTo limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw lastFailure() }
        defer { close(descriptor) }
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
            guard content.count <= limit else { throw .tooLarge }
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

    /// Where a path leads that stands in a file: a relative one starts at that file's folder.
    package static func path(_ path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }

    static func lastFailure() -> Failure {
        .system(unsafe String(cString: strerror(errno)))
    }
}
