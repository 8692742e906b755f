/// The path of a file, and what messages call it.
///
/// A path that takes its text from the environment is called what the configuration calls it, `${NAME}`: the value may
/// be a secret that somebody put into the wrong variable.
package struct FilePath: Sendable, ExpressibleByStringLiteral {
    package let path: String
    private let name: String

    /// - Parameter name: what messages show instead of the path; `nil` shows the path.
    package init(_ path: String, shownAs name: String? = nil) {
        self.path = path
        self.name = name ?? path
    }

    package init(stringLiteral path: String) {
        self.init(path)
    }
}

extension FilePath: Hashable {
    /// The same file is the same path, whatever messages call it.
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
