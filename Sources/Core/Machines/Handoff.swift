/// A value on its way to another thread, which takes it out once.
package final class Handoff<Value>: Sendable {
    private let value: Guarded<Value?>

    package init(_ value: consuming sending Value) {
        self.value = Guarded(value)
    }

    /// - Returns: `nil` when it was taken already.
    package func take() -> sending Value? {
        value.withLock { $0.take() }
    }
}
