package import Core
import Glibc
package import System

/// Checks the file of a library or a program. It runs with all permissions of this process, so only root and the
/// process's user may be able to change it.
package enum TrustedFile {
    /// - Returns: the file itself, with all links resolved. Messages keep the displayed name of `named`, if it has one.
    package static func resolve(_ named: FilePath) throws(Complaint) -> FilePath {
        try resolve(named, for: geteuid())
    }

    static func resolve(_ named: FilePath, for user: uid_t) throws(Complaint) -> FilePath {
        guard let resolved = unsafe realpath(named.path, nil) else {
            throw Complaint("\(named): \(WholeFile.lastFailure())")
        }
        defer { unsafe free(resolved) }
        let path = unsafe String(cString: resolved)
        let isHidden = named.description != named.path
        let file = FilePath(path, shownAs: isHidden ? named.description : nil)
        try check(file, S_IFREG, "a file", for: user)
        let folder = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        try check(
            FilePath(folder.isEmpty ? "/" : String(folder), shownAs: isHidden ? "the folder of \(named)" : nil),
            S_IFDIR, "a folder", for: user)
        return file
    }

    private static func check(_ file: FilePath, _ kind: UInt32, _ name: String, for user: uid_t) throws(Complaint) {
        var information = stat()
        guard unsafe stat(file.path, &information) == 0 else {
            throw Complaint("\(file): \(WholeFile.lastFailure())")
        }
        guard information.st_mode & S_IFMT == kind else { throw Complaint("\(file) is not \(name)") }
        guard information.st_uid == 0 || information.st_uid == user else {
            throw Complaint(
                "\(file) belongs to user \(information.st_uid): expected root or harebell's user, \(user)")
        }
        guard information.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw Complaint("users other than its owner can change \(file): chmod go-w \(file)")
        }
    }
}
