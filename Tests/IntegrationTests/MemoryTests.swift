import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Memory")
    struct MemoryTests {
        @Test(
            "a worker's memory comes from jemalloc, with the options that the program has for it, before which the environment's go"
        )
        func allocator() throws {
            let stage = try Stage()
            for (options, arenas) in [("stats_print:true", 1), ("stats_print:true,narenas:3", 3)] {
                let worker = try stage.launch(environment: ["MALLOC_CONF": options])
                try worker.waitForLine("ready")
                worker.signal(SIGTERM)
                try worker.waitForLine(.errors) { $0.hasSuffix("opt.narenas: \(arenas)") }
                #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            }
            try stage.removeQueues()
        }
    }
}
