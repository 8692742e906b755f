import Glibc

package enum Folder {
    /// The number of entries in a folder, without `.` and `..`.
    package static func count(_ path: String) throws(WholeFile.Failure) -> Int {
        guard let folder = unsafe opendir(path) else { throw WholeFile.lastFailure() }
        defer { unsafe closedir(folder) }
        var count = -[".", ".."].count
        errno = 0
        while unsafe readdir(folder) != nil { count += 1 }
        guard errno == 0 else { throw WholeFile.lastFailure() }
        return count
    }
}
