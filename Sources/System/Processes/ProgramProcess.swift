import CLinux
import Core
import Glibc

/// A process in a separate process group, and its descriptors.
struct ProgramProcess: ~Copyable {
    let id: pid_t
    /// Readable after the process has ended.
    let end: Descriptor
    let errors: Descriptor

    /// - Parameter socket: becomes the parent's end of its standard input and output.
    init(_ program: Program, socket: inout Descriptor?) throws(SystemError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        var pair: [Int32] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw .last }
        let ours = Descriptor(adopting: pair[0])
        let theirs = Descriptor(adopting: pair[1])
        guard unsafe pipe2(&pair, O_CLOEXEC) == 0 else { throw .last }
        let errors = Descriptor(adopting: pair[0])
        let complaints = Descriptor(adopting: pair[1])
        try errors.becomeNonBlocking()
        let id = try Self.spawn(program, input: theirs.number, errors: complaints.number)
        let number = pidfd_open(id, 0)
        guard number >= 0 else {
            let error = SystemError.last
            Self.signal(group: id, SIGKILL)
            waitpid(id, nil, 0)
            throw error
        }
        self.id = id
        self.errors = errors
        end = Descriptor(adopting: number)
        socket = consume ours
    }

    static func signal(group: pid_t, _ signal: Int32) {
        // Fails only if the group is empty.
        _ = kill(-group, signal)
    }

    /// How long to wait for the end of a killed process, in milliseconds. One that hangs in the kernel is left to init.
    private static let killTimeout: Int32 = 100

    borrowing func awaitEnd() {
        var watched = pollfd(fd: end.number, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&watched, 1, Self.killTimeout) < 0, errno == EINTR {}
    }

    /// - Returns: how it ended; `nil` while it is running. This reaps the process.
    static func reap(_ id: pid_t) -> TransportError? {
        var status: Int32 = 0
        var result: pid_t
        repeat { result = unsafe waitpid(id, &status, WNOHANG) } while result < 0 && errno == EINTR
        guard result != 0 else { return nil }
        guard result == id else {
            // If SIGCHLD is ignored, the kernel reaps children itself.
            return TransportError(SystemError.last.name, "it ended with an unknown status")
        }
        let signal = status & 0x7F
        guard signal != 0 else {
            let code = status >> 8 & 0xFF
            return TransportError("exit \(code)", "it ended with status \(code)")
        }
        let name = unsafe sigabbrev_np(signal).map { unsafe "SIG" + String(cString: $0) } ?? "signal \(signal)"
        return TransportError(name, "it was ended by \(name)")
    }

    /// The environment variables that every program inherits.
    private static var inherited: [String] {
        ["PATH", "LANG"].compactMap { name in
            guard let value = unsafe getenv(name) else { return nil }
            return unsafe "\(name)=\(String(cString: value))"
        }
    }

    private static func spawn(_ program: Program, input: Int32, errors: Int32) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        // The process must not inherit blocked or ignored signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)

        let arguments = CStrings(program.command)
        let environment = CStrings(inherited)
        guard let path = unsafe arguments.list[0] else { preconditionFailure("a command must start with a program") }
        var id = pid_t()
        let result = unsafe posix_spawnp(
            &id, path, &actions, &attributes, arguments.list, environment.list)
        guard result == 0 else { throw SystemError(number: result) }
        return id
    }
}

/// Strings for a C function: an array of pointers terminated by a null pointer.
@safe
private final class CStrings {
    fileprivate let list: [UnsafeMutablePointer<CChar>?]

    init(_ texts: [String]) {
        unsafe list = texts.map { unsafe strdup($0) } + [nil]
    }

    deinit {
        unsafe list.forEach { unsafe free($0) }
    }
}
