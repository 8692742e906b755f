/// A node of a YAML document with its position. Tags are ignored: the reader interprets scalars.
package struct YAMLNode: Sendable {
    /// A position in the text. Lines and columns count from one; columns are Unicode scalars.
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
        /// The first position of the same key, if this one repeats it.
        package let first: Mark?
    }

    package enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the text, repeated keys included.
        case mapping([Entry])
    }

    package let content: Content
    /// The start of the node; for an alias, the start of the anchored node. `nil` after ``withoutMarks``.
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

    /// The same node without positions, for a text that is not from a file.
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
