import Glibc

/// The program `echo-decoder`, a decoder that returns envelopes and misbehaves on demand.
package enum EchoDecoder {
    package static let path = beside("echo-decoder")

    /// The path of a program of this package; all are beside the tests.
    package static func beside(_ program: String) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
        let path = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(program)"
    }
}
