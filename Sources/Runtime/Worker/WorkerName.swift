import Core
import Glibc

/// The name of a worker for other systems: host, process, thread and version.
package enum WorkerName {
    /// The longest host name on Linux, in bytes (HOST_NAME_MAX).
    private static let longestHostName = 64

    package static let host: String = {
        var name = [UInt8](repeating: 0, count: longestHostName + 1)
        let result = unsafe name.withUnsafeMutableBytes { buffer in
            unsafe gethostname(buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        return result == 0 ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : "localhost"
    }()

    package static func text(index: Int) -> String {
        "\(host)/\(getpid())-\(index)/\(Version.text)"
    }
}
