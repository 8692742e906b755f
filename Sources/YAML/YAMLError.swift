package import Core

/// Why a text is not YAML that this target reads. It never quotes the text.
package struct YAMLError: ComponentError {
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// libyaml's names.
        package static let memory = Code(rawValue: "YAML_MEMORY_ERROR")
        package static let reader = Code(rawValue: "YAML_READER_ERROR")
        package static let scanner = Code(rawValue: "YAML_SCANNER_ERROR")
        package static let parser = Code(rawValue: "YAML_PARSER_ERROR")
        package static let composer = Code(rawValue: "YAML_COMPOSER_ERROR")
        /// More levels than ``YAMLParser/maximumDepth``.
        package static let depth = Code(rawValue: "depth")
        /// More nodes than ``YAMLParser/maximumNodes``.
        package static let nodes = Code(rawValue: "nodes")
    }

    package let code: Code
    package let message: String
    /// Where the reader stopped.
    package let mark: YAMLNode.Mark
    package let underlying: (any Error)? = nil
    package let blame = Blame.local
    package let isTransient = false

    init(_ code: Code, _ message: String, at mark: YAMLNode.Mark) {
        self.code = code
        self.message = message
        self.mark = mark
    }
}
