import CLinux
import Glibc

/// The code of the program and of its libraries, and their constants, which the system maps from their files.
package enum ProgramCode {
    /// Takes all of it out of the process' resident memory; what is needed again is mapped again, from the page cache, where
    /// processes share it.
    ///
    /// To be called whenever a configuration was read: that goes through libraries of which a message needs nothing, and the
    /// kernel maps up to sixteen pages around each that is touched. Segments that may not be written are as they are in the file, so
    /// that nothing is lost but what others wrote there behind the linker's back: a debugger's breakpoints, a tracer's probes.
    /// An object that the linker itself wrote into is left alone. Source: madvise(2), `MADV_DONTNEED`; dl_iterate_phdr(3).
    package static func unmap() {
        unsafe _ = dl_iterate_phdr(
            { object, _, _ in
                unsafe ProgramCode.unmap(object!.pointee)
                return 0
            }, nil)
    }

    /// Allocates nothing, because it runs under the dynamic linker's lock.
    private static func unmap(_ object: dl_phdr_info) {
        let segments = unsafe UnsafeBufferPointer(start: object.dlpi_phdr, count: Int(object.dlpi_phnum))
        guard unsafe !segments.contains(where: { unsafe isRelocated($0, object) }) else { return }
        let page = UInt(getpagesize())
        for index in segments.indices {
            let segment = unsafe segments[index]
            guard segment.p_type == UInt32(PT_LOAD), segment.p_flags & UInt32(PF_W) == 0 else { continue }
            let lower = unsafe UInt(object.dlpi_addr &+ segment.p_vaddr)
            let start = (lower + page - 1) / page * page
            let end = (lower + UInt(segment.p_memsz)) / page * page
            guard start < end else { continue }
            // Where the kernel refuses, memory stays as it is.
            unsafe _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
    }

    /// Whether a segment is the dynamic section, and says that what may not be written has been (`DT_TEXTREL`).
    private static func isRelocated(_ segment: Elf64_Phdr, _ object: dl_phdr_info) -> Bool {
        guard segment.p_type == UInt32(PT_DYNAMIC),
            // An address below the one that an object was linked for is a sum that wraps.
            var entry = unsafe UnsafePointer<Elf64_Dyn>(bitPattern: UInt(object.dlpi_addr &+ segment.p_vaddr))
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
