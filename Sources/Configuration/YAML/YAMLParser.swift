import CYAML

/// Parses a text with one YAML document into a tree.
///
/// libyaml turns the text into events. Two limits protect against hostile input: the nesting depth, and the number of
/// nodes after aliases are expanded.
@safe
package struct YAMLParser: ~Copyable {
    package static let maximumDepth = 64
    /// Aliases count as their expanded nodes. A configuration with a thousand apps has about 30,000.
    package static let maximumNodes = 200_000

    private enum Event {
        case streamStart, streamEnd, documentStart, documentEnd, sequenceEnd, mappingEnd
        case alias(String)
        case scalar(YAMLNode.Scalar, anchor: String?)
        case sequenceStart(anchor: String?)
        case mappingStart(anchor: String?)
    }

    /// A node with its size, which each alias adds to the tree.
    private struct Measured {
        let node: YAMLNode
        /// The number of nodes in its subtree, including itself.
        let count: Int
        /// The number of levels; a scalar has one.
        let height: Int
    }

    private let text: UnsafeBufferPointer<UInt8>
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// By name; a later anchor with the same name replaces it.
    private var anchors: [String: Measured] = [:]
    private var nodes = 0

    /// - Returns: `nil` for a text without a document.
    package static func root(of text: [UInt8]) throws(YAMLError) -> YAMLNode? {
        try unsafe text.withUnsafeBufferPointer { text throws(YAMLError) in
            guard var parser = unsafe YAMLParser(text) else {
                throw YAMLError(
                    message: "not enough memory", location: ConfigurationProblem.Location(line: 1, column: 1))
            }
            return try parser.onlyDocument()
        }
    }

    /// - Parameter text: must outlive the parser.
    private init?(_ text: UnsafeBufferPointer<UInt8>) {
        let new = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(new) == 1 else {
            unsafe new.deallocate()
            return nil
        }
        unsafe yaml_parser_set_encoding(new, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(new, text.baseAddress, text.count)
        unsafe self.text = text
        unsafe parser = new
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
    }

    // MARK: Tree

    private mutating func onlyDocument() throws(YAMLError) -> YAMLNode? {
        _ = try nextEvent()
        guard case (.documentStart, _) = try nextEvent() else { return nil }
        let root = try nextNode(depth: 1)?.node
        _ = try nextEvent()
        let (event, mark) = try nextEvent()
        guard case .streamEnd = event else {
            throw YAMLError(
                message: "expected a single document in the stream: but found another document", location: mark)
        }
        return root
    }

    /// - Returns: `nil` at the end of the enclosing node.
    private mutating func nextNode(depth: Int) throws(YAMLError) -> Measured? {
        let (event, mark) = try nextEvent()
        switch event {
        case .scalar(let scalar, let anchor):
            try check(depth: depth, nodes: 1, at: mark)
            return keep(
                Measured(node: YAMLNode(content: .scalar(scalar), location: mark), count: 1, height: 1), as: anchor)
        case .alias(let name):
            guard let anchored = anchors[name] else {
                throw YAMLError(message: "found undefined alias", location: mark)
            }
            try check(depth: depth + anchored.height - 1, nodes: anchored.count, at: mark)
            return anchored
        case .sequenceStart(let anchor):
            try check(depth: depth, nodes: 1, at: mark)
            let before = nodes
            var elements: [YAMLNode] = []
            var height = 0
            while let element = try nextNode(depth: depth + 1) {
                elements.append(element.node)
                height = max(height, element.height)
            }
            let node = YAMLNode(content: .sequence(elements), location: mark)
            return keep(Measured(node: node, count: nodes - before + 1, height: height + 1), as: anchor)
        case .mappingStart(let anchor):
            try check(depth: depth, nodes: 1, at: mark)
            let before = nodes
            var entries: [YAMLNode.Entry] = []
            var marks: [String: ConfigurationProblem.Location] = [:]
            var height = 0
            while let key = try nextNode(depth: depth + 1), let value = try nextNode(depth: depth + 1) {
                var first: ConfigurationProblem.Location?
                if let name = key.node.scalar?.string {
                    first = marks[name]
                    if first == nil { marks[name] = key.node.location }
                }
                entries.append(YAMLNode.Entry(key: key.node, value: value.node, first: first))
                height = max(height, key.height, value.height)
            }
            let node = YAMLNode(content: .mapping(entries), location: mark)
            return keep(Measured(node: node, count: nodes - before + 1, height: height + 1), as: anchor)
        case .sequenceEnd, .mappingEnd, .streamStart, .streamEnd, .documentStart, .documentEnd:
            return nil
        }
    }

    private mutating func keep(_ node: Measured, as anchor: String?) -> Measured {
        if let anchor { anchors[anchor] = node }
        return node
    }

    private mutating func check(depth: Int, nodes more: Int, at mark: ConfigurationProblem.Location) throws(YAMLError) {
        guard depth <= Self.maximumDepth else {
            throw YAMLError(message: "more than \(Self.maximumDepth) levels within each other", location: mark)
        }
        nodes += more
        guard nodes <= Self.maximumNodes else {
            throw YAMLError(
                message: "more than \(Self.maximumNodes) values, those behind aliases included", location: mark)
        }
    }

    // MARK: libyaml

    private func nextEvent() throws(YAMLError) -> (Event, ConfigurationProblem.Location) {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw error }
        defer { unsafe yaml_event_delete(&event) }
        return unsafe (Self.event(event), ConfigurationProblem.Location(event.start_mark))
    }

    private static func event(_ event: yaml_event_t) -> Event {
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: return .streamStart
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        case YAML_ALIAS_EVENT: return unsafe .alias(name(event.data.alias.anchor) ?? "")
        case YAML_SEQUENCE_START_EVENT: return unsafe .sequenceStart(anchor: name(event.data.sequence_start.anchor))
        case YAML_MAPPING_START_EVENT: return unsafe .mappingStart(anchor: name(event.data.mapping_start.anchor))
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return unsafe .scalar(
                YAMLNode.Scalar(
                    string: String(decoding: bytes, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE),
                anchor: name(scalar.anchor))
        // libyaml emits no other events, and none after the end.
        default: return .streamEnd
        }
    }

    private static func name(_ anchor: UnsafePointer<yaml_char_t>?) -> String? {
        unsafe anchor.map { unsafe String(cString: $0) }
    }

    private var error: YAMLError {
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? ""
        let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) + ": " } ?? ""
        let mark = unsafe ConfigurationProblem.Location(parser.pointee.problem_mark)
        switch unsafe parser.pointee.error {
        case YAML_READER_ERROR:
            return unsafe YAMLError(message: problem, location: place(of: parser.pointee.problem_offset))
        case YAML_SCANNER_ERROR: return YAMLError(message: context + problem, location: mark)
        case YAML_MEMORY_ERROR:
            return YAMLError(message: "not enough memory", location: ConfigurationProblem.Location(line: 1, column: 1))
        default: return YAMLError(message: context + problem, location: mark)
        }
    }

    /// Converts the byte offset of a reader error, which has no line number.
    private func place(of offset: Int) -> ConfigurationProblem.Location {
        var (line, column) = (1, 1)
        for byte in unsafe Array(text.prefix(offset)) {
            if byte == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if !UTF8.isContinuation(byte) {
                column += 1
            }
        }
        return ConfigurationProblem.Location(line: line, column: column)
    }
}

extension ConfigurationProblem.Location {
    /// libyaml counts from zero.
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
