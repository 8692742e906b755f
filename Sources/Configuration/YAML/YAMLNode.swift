/// A node of a YAML document with its position. Tags are ignored: the reader interprets scalars.
package struct YAMLNode: Sendable {
    package struct Scalar: Equatable, Sendable {
        package let string: String
        /// Whether it has no quotes and is not a block.
        package let isPlain: Bool
    }

    package struct Entry: Sendable {
        package let key: YAMLNode
        package let value: YAMLNode
    }

    package enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the text, repeated keys included.
        case mapping([Entry])
    }

    package let content: Content
    /// The start of the node; for an alias, the start of the anchored node.
    package let location: ConfigurationProblem.Location

    package var scalar: Scalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    package var sequence: [YAMLNode]? {
        if case .sequence(let nodes) = content { nodes } else { nil }
    }

    package var mapping: [Entry]? {
        if case .mapping(let entries) = content { entries } else { nil }
    }
}

/// Why a text cannot be read as YAML. The error never quotes the text.
package struct YAMLError: Error {
    package let message: String
    package let location: ConfigurationProblem.Location
}
