import CLinux
import Glibc

/// The program's own code, which the system maps from its file.
package enum ProgramCode {
    /// Takes all code out of the process' resident memory; what runs again is mapped again, from the page cache, where processes
    /// share it.
    ///
    /// To be called whenever a configuration was read: that goes through libraries of which a message needs nothing, and the
    /// kernel maps up to sixteen pages around each that is touched. Code is never written, so nothing is lost but a debugger's
    /// breakpoints. Source: madvise(2), `MADV_DONTNEED`.
    package static func unmap() {
        let page = UInt(getpagesize())
        let start = unsafe (UInt(bitPattern: harebell_code_start()) + page - 1) / page * page
        let end = unsafe UInt(bitPattern: harebell_code_end()) / page * page
        guard start < end else { return }
        // Where the kernel refuses, memory stays as it is.
        unsafe _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
    }
}
