/// Identifies something in flight: a notification from decoding to outcome, or a message while another process decodes
/// it.
///
/// A small number that is reused afterwards, so that tables indexed by it stay small.
@usableFromInline
package struct Handle: Hashable, Comparable, Sendable {
    @usableFromInline package let value: UInt32

    @inlinable
    package init(_ value: UInt32) {
        self.value = value
    }

    @inlinable package var index: Int { Int(value) }

    @inlinable
    package static func < (one: Handle, other: Handle) -> Bool {
        one.value < other.value
    }
}
