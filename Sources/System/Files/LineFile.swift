import Glibc

/// A file that is written line by line, and durable when ``sync()`` returns. Only its owner may read it.
package final class LineWriter {
    private let descriptor: Descriptor
    private let path: String
    private var written = 0
    private var kept = 0

    /// - Throws: if it cannot be created, for example because it exists already.
    package init(creating path: String) throws(WholeFile.Failure) {
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw WholeFile.lastFailure() }
        descriptor = Descriptor(adopting: number)
        self.path = path
    }

    /// Removes the file, for work that has failed.
    package func remove() {
        _ = unsafe unlink(path)
    }

    package func write(_ line: [UInt8]) throws(WholeFile.Failure) {
        try WholeFile.write(ArraySlice(line + [UInt8(ascii: "\n")]), to: descriptor.number)
        written += line.count + 1
    }

    package func sync() throws(WholeFile.Failure) {
        guard fsync(descriptor.number) == 0 else { throw WholeFile.lastFailure() }
        kept = written
    }

    /// Removes what was not synced, if possible, after a failure. Only ``sync()`` and ``remove()`` may follow.
    package func revert() {
        _ = ftruncate(descriptor.number, off_t(kept))
    }
}

package final class LineReader {
    private static let blockSize = 65536

    private let descriptor: Descriptor
    private let longestLine: Int
    private var buffer: ArraySlice<UInt8> = []
    private var isAtEnd = false
    /// The number of the last line that was read, from 1.
    package private(set) var line = 0

    /// - Parameter longestLine: in bytes.
    package init(_ path: String, longestLine: Int) throws(WholeFile.Failure) {
        descriptor = try RegularFile.open(path)
        self.longestLine = longestLine
    }

    /// - Returns: the next line without its newline, `nil` after the last one; the last one may lack a newline.
    package func next() throws(WholeFile.Failure) -> ArraySlice<UInt8>? {
        var searched = 0
        while true {
            if let end = buffer.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
                line += 1
                defer { buffer = buffer[(end + 1)...] }
                return buffer[..<end]
            }
            searched = buffer.count
            guard !isAtEnd else {
                guard !buffer.isEmpty else { return nil }
                line += 1
                defer { buffer = [] }
                return buffer
            }
            guard buffer.count <= longestLine else { throw .tooLarge(limit: longestLine) }
            try readBlock()
        }
    }

    private func readBlock() throws(WholeFile.Failure) {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        let number = descriptor.number
        let count = unsafe block.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, $0.count) }
        guard count >= 0 || errno == EINTR else { throw WholeFile.lastFailure() }
        if count == 0 { isAtEnd = true }
        buffer = ArraySlice(Array(buffer) + block.prefix(max(0, count)))
    }
}
