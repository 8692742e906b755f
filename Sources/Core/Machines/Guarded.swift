public import Synchronization

/// A value protected by a lock.
///
/// ThreadSanitizer does not see a contended `Mutex` change owners, because that happens inside the runtime, which is
/// not instrumented. It would report a race. Builds for it define `THREAD_SANITIZER`.
///
/// Usable from inline code, because other modules would look up the type of the mutex on each call.
@usableFromInline
package struct Guarded<Value>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    #if THREAD_SANITIZER
        @usableFromInline let handover = Atomic<UInt8>(0)
    #endif

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Passes the value to `body`; waits until no other thread uses it.
    @inlinable
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
