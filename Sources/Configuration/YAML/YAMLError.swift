package import Core

/// Why a text cannot be read as YAML. The error never quotes the text.
package struct YAMLError: ComponentError {
    package typealias Code = ErrorCode<YAMLError>

    package let code: Code
    package let message: String
    /// The position at which the reader stopped.
    package let mark: YAMLNode.Mark
    package let blame = Blame.local
    package let isTransient = false

    init(_ code: Code, _ message: String, at mark: YAMLNode.Mark) {
        self.code = code
        self.message = message
        self.mark = mark
    }
}

extension ErrorCode<YAMLError> {
    /// libyaml's error names.
    package static var memory: Self { Self(rawValue: "YAML_MEMORY_ERROR") }
    package static var reader: Self { Self(rawValue: "YAML_READER_ERROR") }
    package static var scanner: Self { Self(rawValue: "YAML_SCANNER_ERROR") }
    package static var parser: Self { Self(rawValue: "YAML_PARSER_ERROR") }
    package static var composer: Self { Self(rawValue: "YAML_COMPOSER_ERROR") }
    /// Nested deeper than ``YAMLParser/maximumDepth``.
    package static var depth: Self { Self(rawValue: "depth") }
    /// More nodes than ``YAMLParser/maximumNodes``.
    package static var nodes: Self { Self(rawValue: "nodes") }
}
