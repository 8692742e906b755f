import Glibc

package enum Folder {
    /// The number of entries in a folder, without `.` and `..`.
    package static func count(_ path: String) throws(WholeFile.Failure) -> Int {
        guard let folder = unsafe opendir(path) else { throw WholeFile.lastFailure() }
        defer { unsafe closedir(folder) }
        var count = 0
        errno = 0
        while let entry = unsafe readdir(folder) {
            // Matches only "." and "..".
            let name = unsafe (entry.pointee.d_name.0, entry.pointee.d_name.1, entry.pointee.d_name.2)
            let dot = CChar(UInt8(ascii: "."))
            let isFolderItself = name.0 == dot && (name.1 == 0 || (name.1 == dot && name.2 == 0))
            if !isFolderItself { count += 1 }
        }
        guard errno == 0 else { throw WholeFile.lastFailure() }
        return count
    }
}
