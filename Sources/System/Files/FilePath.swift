/// The path of a file, and its name in messages.
///
/// Messages show a path from the environment as in the configuration, `${NAME}`: the value may be a secret in the wrong
/// variable.
package struct FilePath: Sendable, ExpressibleByStringLiteral {
    package let path: String
    private let name: String

    /// - Parameter name: shown in messages instead of the path; `nil` shows the path.
    package init(_ path: String, shownAs name: String? = nil) {
        self.path = path
        self.name = name ?? path
    }

    package init(stringLiteral path: String) {
        self.init(path)
    }
}

extension FilePath: Hashable {
    /// Equal paths are the same file, regardless of the name in messages.
    package static func == (left: FilePath, right: FilePath) -> Bool {
        left.path == right.path
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(path)
    }
}

extension FilePath: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { name }
    package var debugDescription: String { name }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
