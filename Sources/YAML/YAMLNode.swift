/// A part of a YAML document: its text and shape, and where it stands. Tags are ignored: the reader decides what a
/// scalar means.
package struct YAMLNode: Sendable {
    /// A place in the text. Both numbers count from one; columns are Unicode scalars.
    package struct Mark: Equatable, Sendable {
        package let line: Int
        package let column: Int
    }

    package enum Style: Sendable {
        case plain, singleQuoted, doubleQuoted, literal, folded
    }

    package struct Scalar: Equatable, Sendable {
        package let string: String
        package let style: Style
    }

    /// A key with its value.
    package struct Entry: Sendable {
        package let key: YAMLNode
        package let value: YAMLNode
        /// Where the same key stands first, if this one repeats it.
        package let first: Mark?
    }

    package enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the text, repeated keys included.
        case mapping([Entry])
    }

    package let content: Content
    /// Where the node begins; behind an alias, where the anchored node begins. `nil` for one ``withoutMarks``.
    package let mark: Mark?

    package var scalar: Scalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    package var sequence: [YAMLNode]? {
        if case .sequence(let nodes) = content { nodes } else { nil }
    }

    package var mapping: [Entry]? {
        if case .mapping(let entries) = content { entries } else { nil }
    }

    /// The same for a text that stands in no file.
    package var withoutMarks: YAMLNode {
        switch content {
        case .scalar: YAMLNode(content: content, mark: nil)
        case .sequence(let nodes): YAMLNode(content: .sequence(nodes.map(\.withoutMarks)), mark: nil)
        case .mapping(let entries):
            YAMLNode(
                content: .mapping(
                    entries.map { Entry(key: $0.key.withoutMarks, value: $0.value.withoutMarks, first: $0.first) }),
                mark: nil)
        }
    }
}
