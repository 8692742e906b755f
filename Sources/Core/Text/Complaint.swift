/// An error that no code tells apart: operators read its message.
package struct Complaint: Error, Equatable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}
