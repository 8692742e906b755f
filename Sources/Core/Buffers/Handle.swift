/// Identifies something in flight: a notification from decoding to outcome, or a message while another process decodes
/// it.
///
/// A small number that is reused afterwards, so that tables indexed by it stay small.
package struct Handle: Hashable, Comparable, Sendable {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }

    /// Its index in a table.
    package var index: Int { Int(value) }

    package static func < (one: Handle, other: Handle) -> Bool {
        one.value < other.value
    }
}
