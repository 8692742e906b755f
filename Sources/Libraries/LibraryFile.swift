import Glibc

/// What is loaded runs with all that this process may do: nobody but root and its own user may be able to change it.
enum LibraryFile {
    /// - Returns: the file itself, whatever links lead to it.
    static func resolve(_ path: String) throws(LibraryError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw LibraryError(.missing, "\(path): \(systemError)") }
        defer { unsafe free(resolved) }
        let file = unsafe String(cString: resolved)
        try check(file, S_IFREG, "a file")
        let folder = file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)
        try check(folder.isEmpty ? "/" : String(folder), S_IFDIR, "a folder")
        return file
    }

    private static func check(_ path: String, _ kind: UInt32, _ name: String) throws(LibraryError) {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { throw LibraryError(.missing, "\(path): \(systemError)") }
        guard information.st_mode & S_IFMT == kind else { throw LibraryError(.missing, "\(path) is not \(name)") }
        guard information.st_uid == 0 || information.st_uid == geteuid() else {
            throw LibraryError(
                .exposed,
                "\(path) belongs to user \(information.st_uid): expected root or the user whom harebell runs as, \(geteuid())"
            )
        }
        guard information.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw LibraryError(.exposed, "others than its owner can change \(path): chmod go-w \(path)")
        }
    }

    private static var systemError: String {
        unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "unknown error"
    }
}
