import Glibc

/// Programs as a system finds them.
package enum Executable {
    /// Where a program is: a name with a slash is a path, any other is looked for in the folders of `PATH`.
    ///
    /// - Returns: `nil` if there is no such file, or it may not be run.
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
