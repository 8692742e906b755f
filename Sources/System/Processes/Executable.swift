import Glibc

package enum Executable {
    /// The path of a program: a name with a slash is a path, any other is searched in the folders of `PATH`.
    ///
    /// - Returns: `nil` if the file does not exist or is not executable.
    package static func path(of name: String) -> String? {
        guard !name.contains("/") else { return isExecutable(name) ? name : nil }
        guard let folders = unsafe getenv("PATH") else { return nil }
        return unsafe String(cString: folders).split(separator: ":").map { "\($0)/\(name)" }.first(where: isExecutable)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var information = stat()
        return unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
