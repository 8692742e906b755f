import Foundation
import Glibc

/// A program that a test starts, watches and ends.
///
/// Its output goes to files, so that it never blocks and survives the program. A process that is still running when the
/// last reference goes is killed. Only one thread at a time may use it.
package final class ChildProcess {
    package enum Stream: String {
        case output, errors
    }

    package enum Exit: Equatable, CustomStringConvertible {
        case exited(Int32)
        case signalled(Int32)

        package var description: String {
            switch self {
            case .exited(let status): "exit status \(status)"
            case .signalled(let signal): "ended by signal \(signal)"
            }
        }
    }

    package let processID: Int32
    package private(set) var exit: Exit?
    private let directory: TemporaryDirectory
    private let name: String

    /// - Parameters:
    ///   - path: the program, as an absolute path or relative to the working directory; `PATH` is not searched.
    ///   - environment: is added to this process's own, and wins.
    package init(_ path: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        directory = try TemporaryDirectory()
        name = path.split(separator: "/").last.map(String.init) ?? path
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        processID = try Self.spawn(
            path, [path] + arguments, variables.map { "\($0)=\($1)" }, output: directory.file(Stream.output.rawValue),
            errors: directory.file(Stream.errors.rawValue))
    }

    deinit {
        guard exit == nil else { return }
        kill(processID, SIGKILL)
        waitpid(processID, nil, 0)
    }

    // MARK: Output

    /// All output so far.
    package func text(_ stream: Stream = .output) -> String {
        let path = directory.file(stream.rawValue)
        // Foundation leaks the buffer of an empty read.
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_size > 0 else { return "" }
        return String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Waits for the first whole line for which `matches` holds.
    ///
    /// - Throws: ``TestSupportError`` with the process's output, after `limit` or when it has ended without that line.
    @discardableResult
    package func waitForLine(
        _ stream: Stream = .output, within limit: Duration = .seconds(20), where matches: (Substring) -> Bool
    ) throws -> String {
        try eventually("the line; \(report)", within: limit) {
            let hasEnded = poll() != nil
            let lines = text(stream).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: matches) { return String(line) }
            if hasEnded { throw TestSupportError("the line did not come; \(report)") }
            return nil
        }
    }

    /// The first line that is exactly `line`, see ``waitForLine(_:within:where:)``.
    package func waitForLine(_ line: String, _ stream: Stream = .output, within limit: Duration = .seconds(20)) throws {
        try waitForLine(stream, within: limit) { $0 == line }
    }

    // MARK: Exit

    /// Sends a signal; does nothing if the process has ended.
    package func signal(_ signal: Int32) {
        if poll() == nil { kill(processID, signal) }
    }

    /// Waits for its end.
    ///
    /// - Throws: ``TestSupportError`` with the process's output, after `limit`.
    @discardableResult
    package func waitForExit(within limit: Duration = .seconds(30)) throws -> Exit {
        try eventually("the end of the process; \(report)", within: limit) { poll() }
    }

    /// Runs a program to its end.
    ///
    /// - Returns: its standard output.
    /// - Throws: ``TestSupportError`` with its output if its exit status is not 0, or after `limit`.
    @discardableResult
    package static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        within limit: Duration = .seconds(120)
    ) throws -> String {
        let process = try ChildProcess(path, arguments, environment: environment)
        guard try process.waitForExit(within: limit) == .exited(0) else { throw TestSupportError(process.report) }
        return process.text()
    }

    /// The process's status and output, for messages.
    package var report: String {
        let state = poll()?.description ?? "running"
        return "\(name) (\(processID)): \(state)\n\(text(.errors).suffix(4000))\(text().suffix(4000))"
    }

    /// Collects the exit status, which is possible only once.
    private func poll() -> Exit? {
        if exit != nil { return exit }
        var status: Int32 = 0
        guard unsafe waitpid(processID, &status, WNOHANG) == processID else { return nil }
        // wait(2): the low seven bits are the signal, the next byte the exit status.
        let signal = status & 0x7f
        exit = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
        return exit
    }

    // MARK: Start

    /// Starts a process with the signal mask of a fresh shell, and only the two files as inherited descriptors: all
    /// others are close-on-exec.
    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String], output: String, errors: String
    ) throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let flags = O_WRONLY | O_CREAT | O_APPEND
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, flags, 0o600)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var processID: pid_t = 0
        let result = unsafe withStrings(arguments) { argv in
            unsafe withStrings(environment) { envp in
                unsafe posix_spawn(&processID, path, &actions, &attributes, argv, envp)
            }
        }
        guard result == 0 else { throw TestSupportError("cannot start \(path): errno \(result)") }
        return processID
    }

    /// Passes the strings as C's null-terminated array of strings.
    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }
}
