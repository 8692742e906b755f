import Core
import Glibc

/// Writes lines to a descriptor and never waits: a log reader that stands still must not stop a worker's heartbeats.
///
/// The descriptor stays in blocking mode, because other processes may share it. A write follows a poll, and is short
/// enough for a pipe that poll reports as writable. Source: pipe(7). Poll reports a terminal as writable that has no
/// room for a whole line, so a terminal is opened again, without blocking.
package struct LogOutput {
    private static let longestWrite = 4096

    private let descriptor: Int32
    /// Lines that did not fit.
    package private(set) var dropped: UInt64 = 0
    private var unreported: UInt64 = 0
    /// Whether the last line ended early.
    private var isTorn = false

    package init(descriptor: Int32) {
        let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let own = unsafe isatty(descriptor) == 1 ? Glibc.open("/proc/self/fd/\(descriptor)", flags) : -1
        self.descriptor = own < 0 ? descriptor : own
    }

    /// - Parameter notice: a line that reports the number of dropped lines.
    package mutating func write(_ line: String, notice: (UInt64) -> String) {
        if unreported > 0, send((isTorn ? "\n" : "") + notice(unreported)) { unreported = 0 }
        guard unreported > 0 || !send(line) else { return }
        dropped += 1
        unreported += 1
    }

    /// - Returns: whether the whole text was written.
    private mutating func send(_ text: String) -> Bool {
        var rest = ArraySlice(text.utf8)
        while !rest.isEmpty {
            var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&watched, 1, 0) == 1 else { return false }
            let written = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, min($0.count, Self.longestWrite))
            }
            if written > 0 {
                rest = rest.dropFirst(written)
                isTorn = !rest.isEmpty
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
