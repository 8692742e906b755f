import Glibc

/// How other users can access a file that only its owner and group should read.
package enum FileExposure: Sendable {
    /// Every user of the machine may read it.
    case readable
    /// Its group, or every user, may change it.
    case writable

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
