import Synchronization

/// A value protected by a lock.
///
/// ThreadSanitizer does not see a contended `Mutex` change owners, because that happens inside the runtime, which is
/// not instrumented. It would report a race. Builds for it define `THREAD_SANITIZER`.
package struct Guarded<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    #if THREAD_SANITIZER
        private let handover = Atomic<UInt8>(0)
    #endif

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Passes the value to `body`; waits until no other thread uses it.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value) throws(Failure) -> sending Result in
            #if THREAD_SANITIZER
                _ = handover.load(ordering: .acquiring)
                defer { handover.store(0, ordering: .releasing) }
            #endif
            return try body(&value)
        }
    }
}
