import CLinux
import Glibc

/// The code of the program and of its libraries, which the system maps from their files.
package enum ProgramCode {
    /// Takes all code out of the process' resident memory; what runs again is mapped again, from the page cache, where processes
    /// share it.
    ///
    /// To be called whenever a configuration was read: that goes through libraries of which a message needs nothing, and the
    /// kernel maps up to sixteen pages around each that is touched. Nothing is lost but a debugger's breakpoints, because segments
    /// that may not be written are as they are in the file; an object whose code was changed when it was loaded is left alone.
    /// Source: madvise(2), `MADV_DONTNEED`; dl_iterate_phdr(3).
    package static func unmap() {
        unsafe _ = dl_iterate_phdr(
            { object, _, _ in
                unsafe ProgramCode.unmap(object!.pointee)
                return 0
            }, nil)
    }

    private static func unmap(_ object: harebell_object) {
        let segments = unsafe UnsafeBufferPointer(start: object.segments, count: Int(object.count))
        guard unsafe !segments.contains(where: { unsafe isRelocated($0, object) }) else { return }
        let page = UInt(getpagesize())
        let fromFile = unsafe segments.filter { $0.p_type == UInt32(PT_LOAD) && $0.p_flags & UInt32(PF_W) == 0 }
        for segment in fromFile {
            let lower = unsafe UInt(object.base + segment.p_vaddr)
            let start = (lower + page - 1) / page * page
            let end = (lower + UInt(segment.p_memsz)) / page * page
            guard start < end else { continue }
            // Where the kernel refuses, memory stays as it is.
            unsafe _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
    }

    /// Whether a segment is the dynamic section, and says that what may not be written has been (`DT_TEXTREL`).
    private static func isRelocated(_ segment: Elf64_Phdr, _ object: harebell_object) -> Bool {
        guard segment.p_type == UInt32(PT_DYNAMIC),
            var entry = unsafe UnsafePointer<Elf64_Dyn>(bitPattern: UInt(object.base + segment.p_vaddr))
        else { return false }
        while unsafe entry.pointee.d_tag != Int64(DT_NULL) {
            let value = unsafe entry.pointee.d_un.d_val
            switch unsafe entry.pointee.d_tag {
            case Int64(DT_TEXTREL): return true
            case Int64(DT_FLAGS): if value & UInt64(DF_TEXTREL) != 0 { return true }
            default: break
            }
            unsafe entry += 1
        }
        return false
    }
}
