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
    private let descriptor: Descriptor
    private let longestLine: Int
    private var buffer: ArraySlice<UInt8> = []
    private var isAtEnd = false
    /// The number of the last line that was read, from 1.
    package private(set) var line = 0

    /// - Parameter longestLine: in bytes.
    package init(_ path: String, longestLine: Int) throws(WholeFile.Failure) {
        descriptor = try WholeFile.openRegular(path)
        self.longestLine = longestLine
    }

    /// - Returns: the next line without its newline, `nil` after the last one; the last one may lack a newline.
    package func next() throws(WholeFile.Failure) -> ArraySlice<UInt8>? {
        var searched = 0
        while true {
            let newline = buffer.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n"))
            if let end = newline ?? (isAtEnd && !buffer.isEmpty ? buffer.endIndex : nil) {
                line += 1
                defer { buffer = buffer[end...].dropFirst() }
                return buffer[..<end]
            }
            guard !isAtEnd else { return nil }
            searched = buffer.count
            guard buffer.count <= longestLine else { throw .tooLarge(limit: longestLine) }
            let block = try WholeFile.readBlock(descriptor.number)
            isAtEnd = block.isEmpty
            buffer = ArraySlice(Array(buffer) + block)
        }
    }
}
