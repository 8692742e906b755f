import Synchronization

/// A value that one thread at a time may touch.
///
/// ThreadSanitizer does not see the hand-overs of a `Mutex`: a thread that had to wait for it takes it over inside the
/// runtime, which is not instrumented, and would be reported as racing. Builds for it define `THREAD_SANITIZER`.
package struct Guarded<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    #if THREAD_SANITIZER
        private let handover = Atomic<UInt8>(0)
    #endif

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Lends the value to `body`, waiting for other threads to be done with it.
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
