import Synchronization

/// A value that one thread at a time may touch.
///
/// It is a `Mutex` whose hand-overs ThreadSanitizer can see: a thread that had to wait for a `Mutex` takes it over inside
/// the runtime, which is not instrumented, and would be reported as racing.
package struct Guarded<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let handover = Atomic<UInt8>(0)

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Lends the value to `body`, waiting for other threads to be done with it.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value) throws(Failure) -> sending Result in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(0, ordering: .releasing) }
            return try body(&value)
        }
    }
}
