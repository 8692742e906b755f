/// A value that is never printed: descriptions, interpolations, dumps and mirrors show `<secret>`.
package struct Secret: Sendable, Hashable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// The value itself, for the code that uses it.
    package func reveal() -> String {
        text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
