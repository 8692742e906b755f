import CLinux
import Glibc

/// What glibc's allocator keeps for each thread.
package enum AllocatorCaches {
    /// How many freed blocks of each size, of up to 1 KiB, a thread keeps at hand. A turn of a busy worker frees the blocks of a
    /// hundred requests and allocates those of the next; of the seven that glibc keeps by itself hardly one is left for them, and
    /// the others are merged with their neighbours and cut out again.
    package static let blocks = 512

    private static let variable = "GLIBC_TUNABLES"

    /// Starts the program anew with these caches, as the same process: glibc reads how many there may be before the program
    /// begins, and from the environment alone. To be called before files are opened and threads are started; returns where the
    /// environment has settings of the user's own, where the program runs with another user's rights, or where the system
    /// refuses.
    ///
    /// Source: The GNU C Library, "Memory Allocation Tunables".
    package static func enlarge() {
        guard unsafe getenv(variable) == nil, getauxval(UInt(AT_SECURE)) == 0 else { return }
        unsafe setenv(variable, "glibc.malloc.tcache_count=\(blocks)", 0)
        unsafe _ = execv("/proc/self/exe", CommandLine.unsafeArgv)
        unsafe unsetenv(variable)
    }
}
