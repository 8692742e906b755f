import Glibc

/// Opens regular files only, so that reading never blocks.
enum RegularFile {
    /// Opens a regular file for reading; symbolic links are followed.
    ///
    /// `O_NONBLOCK`, because opening a FIFO blocks until it has a writer.
    ///
    /// - Throws: ``WholeFile/Failure/notRegular`` for a FIFO, a device, a socket or a directory.
    static func open(_ path: String) throws(WholeFile.Failure) -> Descriptor {
        let number = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard number >= 0 else {
            // `open` fails for a socket.
            throw errno == ENXIO ? .notRegular : WholeFile.lastFailure()
        }
        let descriptor = Descriptor(adopting: number)
        var information = stat()
        guard unsafe fstat(number, &information) == 0 else { throw WholeFile.lastFailure() }
        guard information.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        return descriptor
    }
}
