/// Passes a value to another thread, which takes it once.
package final class Handoff<Value>: Sendable {
    private let value: Guarded<Value?>

    package init(_ value: consuming sending Value) {
        self.value = Guarded(value)
    }

    /// - Returns: `nil` when it was already taken.
    package func take() -> sending Value? {
        value.withLock { $0.take() }
    }
}
