import Glibc

/// How other users can access a file that only its owner and group should read.
///
/// Each is what is wrong, and the command that mends it without the file's name.
package enum FileExposure: String, Sendable {
    case readable = "every user of this machine can read the file: chmod o="
    case writable = "users other than its owner can change the file: chmod go-w,o="

    /// - Returns: `nil` if the file is protected, is not a regular file (a pipe, for example), or is not accessible.
    package init?(ofFile path: String) {
        var information = stat()
        guard unsafe stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        if information.st_mode & (S_IWGRP | S_IWOTH) != 0 {
            self = .writable
        } else if information.st_mode & S_IROTH != 0 {
            self = .readable
        } else {
            return nil
        }
    }
}
