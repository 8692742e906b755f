import ArgumentParser
import Core
import Decoding
import Glibc

/// Writes a line to standard error.
func complain(_ text: String) {
    write(ControlCharacters.escaped(text), to: STDERR_FILENO)
}

func complain(lines text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) { complain(String(line)) }
}

/// Writes a line to standard output immediately, even if it is a pipe.
func printLine(_ text: String) {
    write(ControlCharacters.escaped(text), to: STDOUT_FILENO)
}

/// Writes several lines to standard output immediately. Line feeds within a line are escaped, because they may come
/// from a peer.
func printLine(lines: [String]) {
    for line in lines { printLine(line) }
}

func printLine(json members: [(String, JSONOutput)]) {
    printLine(json: JSONOutput.object(members).description)
}

/// Writes JSON to standard output immediately, on one line.
func printLine(json: String) {
    write(ControlCharacters.escaped(json: json), to: STDOUT_FILENO)
}

/// Writes text that is already escaped to standard output immediately.
func printLine(raw text: String) {
    write(text, to: STDOUT_FILENO)
}

/// The first error of standard output.
private let outputFailure = Guarded<Int32?>(nil)

/// Ends the process with an error if standard output could not take everything.
func checkOutput() {
    guard let failure = outputFailure.withLock({ $0 }) else { return }
    complain("cannot write to standard output: \(unsafe String(cString: strerror(failure)))")
    RootCommand.exit(withError: Status.internal)
}

private func write(_ line: String, to descriptor: Int32) {
    var rest = ArraySlice((line + "\n").utf8)
    while !rest.isEmpty {
        let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let failure = written < 0 ? errno : 0
        if failure == EAGAIN {
            // Another program has made the common pipe or terminal non-blocking.
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            unsafe poll(&request, 1, -1)
            continue
        }
        guard written >= 0 || failure == EINTR else {
            // A reader that has closed its pipe has what it wanted.
            if descriptor == STDOUT_FILENO, failure != EPIPE {
                outputFailure.withLock { $0 = $0 ?? failure }
            }
            return
        }
        rest = rest.dropFirst(max(0, written))
    }
}
