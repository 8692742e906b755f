/// What something in flight is known by on its whole way: a notification from its decoding to its outcome, or a message
/// while another process decodes it.
///
/// A small number that is used again afterwards, so that tables indexed by it stay small.
package struct Handle: Hashable, Comparable, Sendable {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }

    /// Its place in a table.
    package var index: Int { Int(value) }

    package static func < (one: Handle, other: Handle) -> Bool {
        one.value < other.value
    }
}
