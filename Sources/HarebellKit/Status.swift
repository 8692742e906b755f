import ArgumentParser
import Core
import Decoding
import Glibc
import TLS

/// How a command ends. Source: sysexits.h.
enum Status {
    static let refused = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let `internal` = ExitCode(70)
    static let configuration = ExitCode(78)

    /// For an error that no command dealt with. Those of TLS are about a file that the configuration names: what a peer
    /// does ends a connection, not a command.
    static func unforeseen(_ error: any Error) -> ExitCode {
        error is TLSError ? configuration : `internal`
    }
}

extension Outcome {
    /// How a command ends whose request ended so; `nil` for done.
    var status: ExitCode? {
        switch self {
        case .accepted: nil
        case .unregistered, .rejected, .invalid, .expired: Status.refused
        case .undelivered: Status.unavailable
        }
    }
}

/// Writes a line to standard error.
func complain(_ text: String) {
    write(ControlCharacters.escaped(text), to: STDERR_FILENO)
}

/// Writes several lines to standard error.
func complain(lines text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) { complain(String(line)) }
}

/// Writes a line to standard output at once, also where that is a pipe.
func say(_ text: String) {
    write(ControlCharacters.escaped(text), to: STDOUT_FILENO)
}

/// Writes several lines likewise. A line feed within one of them is a peer's, and does not begin another.
func say(lines: [String]) {
    for line in lines { say(line) }
}

/// Writes a JSON object likewise, on one line.
func say(json members: [(String, JSONAnswer)]) {
    say(json: JSONAnswer.text(of: members))
}

/// Writes JSON likewise, on one line.
func say(json: String) {
    write(ControlCharacters.escaped(json: json), to: STDOUT_FILENO)
}

/// Likewise, of what is safe for a terminal already.
func say(raw text: String) {
    write(text, to: STDOUT_FILENO)
}

private func write(_ line: String, to descriptor: Int32) {
    var rest = ArraySlice((line + "\n").utf8)
    while !rest.isEmpty {
        let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        // Nobody is left to be told when the other end of a pipe is gone.
        guard written >= 0 || errno == EINTR else { return }
        rest = rest.dropFirst(max(0, written))
    }
}
