import Glibc
import TestSupport
import Testing

@testable import EventLoop

#if arch(x86_64)
    @Suite("The program's code")
    struct ProgramCodeTests {
        @Test("runs on after it was unmapped, also where the dynamic linker has written into it")
        func unmapping() throws {
            typealias Answer = @convention(c) () -> Int32
            let library = try CompiledLibrary("Tests/DecoderLibraries/relocated.c", options: ["-Wl,-z,notext"])
            let handle = unsafe try #require(unsafe dlopen(library.path, RTLD_NOW))
            defer { unsafe _ = dlclose(handle) }
            let symbol = unsafe try #require(unsafe dlsym(handle, "relocated_answer"))
            let answer = unsafe unsafeBitCast(symbol, to: Answer.self)
            #expect(answer() == 42)
            ProgramCode.unmap()
            #expect(answer() == 42)
        }
    }
#endif
