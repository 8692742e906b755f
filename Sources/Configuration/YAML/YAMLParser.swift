import CYAML

/// Parses a text with one YAML document into a tree.
///
/// libyaml reads the document and resolves its aliases. Two limits protect against hostile input: the nesting depth,
/// and the number of nodes after aliases are expanded.
@safe
package struct YAMLParser: ~Copyable {
    package static let maximumDepth = 64
    /// Aliases count as their expanded nodes. A configuration with a thousand apps has about 30,000.
    package static let maximumNodes = 200_000
    /// Bytes of all values together, counted like ``maximumNodes``; four times as many as a file may have.
    private static let maximumText = 16 << 20

    private let text: UnsafeBufferPointer<UInt8>
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var nodes = 0
    private var textSize = 0

    /// - Returns: `nil` for a text without a document.
    package static func root(of text: [UInt8]) throws(YAMLError) -> YAMLNode? {
        // libyaml counts a byte order mark as a column of the first key.
        let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
        return try unsafe text.withUnsafeBufferPointer { text throws(YAMLError) in
            var parser = unsafe YAMLParser(text)
            return try parser.onlyDocument()
        }
    }

    /// - Parameter text: must outlive the parser.
    private init(_ text: UnsafeBufferPointer<UInt8>) {
        let new = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(new) == 1 else { preconditionFailure("not enough memory") }
        unsafe yaml_parser_set_encoding(new, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(new, text.baseAddress, text.count)
        unsafe self.text = text
        unsafe parser = new
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
    }

    private mutating func onlyDocument() throws(YAMLError) -> YAMLNode? {
        var document = try unsafe load()
        defer { unsafe yaml_document_delete(&document) }
        var next = try unsafe load()
        defer { unsafe yaml_document_delete(&next) }
        guard unsafe yaml_document_get_root_node(&next) == nil else {
            throw unsafe YAMLError(
                message: "expected a single document in the stream: but found another document",
                location: ConfigurationProblem.Location(next.start_mark))
        }
        guard let root = unsafe yaml_document_get_root_node(&document) else { return nil }
        return try unsafe tree(root.pointee, of: &document, depth: 1)
    }

    /// The next document; it has no root at the end of the text.
    private func load() throws(YAMLError) -> yaml_document_t {
        var document = unsafe yaml_document_t()
        guard unsafe yaml_parser_load(parser, &document) == 1 else { throw error }
        return unsafe document
    }

    private mutating func tree(
        _ node: yaml_node_t, of document: inout yaml_document_t, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        let location = unsafe ConfigurationProblem.Location(node.start_mark)
        guard depth <= Self.maximumDepth else {
            throw YAMLError(message: "more than \(Self.maximumDepth) levels within each other", location: location)
        }
        nodes += 1
        guard nodes <= Self.maximumNodes else {
            throw YAMLError(
                message: "more than \(Self.maximumNodes) values, those behind aliases included", location: location)
        }
        switch unsafe node.type {
        case YAML_SEQUENCE_NODE:
            let items = unsafe node.data.sequence.items
            var elements: [YAMLNode] = []
            for index in unsafe 0..<(items.top - items.start) {
                elements.append(try unsafe child(items.start[index], of: &document, depth: depth))
            }
            return YAMLNode(content: .sequence(elements), location: location)
        case YAML_MAPPING_NODE:
            let pairs = unsafe node.data.mapping.pairs
            var entries: [YAMLNode.Entry] = []
            for index in unsafe 0..<(pairs.top - pairs.start) {
                let key = try unsafe child(pairs.start[index].key, of: &document, depth: depth)
                let value = try unsafe child(pairs.start[index].value, of: &document, depth: depth)
                entries.append(YAMLNode.Entry(key: key, value: value))
            }
            return YAMLNode(content: .mapping(entries), location: location)
        default:
            let scalar = unsafe node.data.scalar
            let length = unsafe scalar.length
            textSize += length
            guard textSize <= Self.maximumText else {
                throw YAMLError(
                    message: "more than \(Self.maximumText) bytes of text, those behind aliases included",
                    location: location)
            }
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let string = unsafe String(decoding: bytes, as: UTF8.self)
            let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
            return YAMLNode(content: .scalar(YAMLNode.Scalar(string: string, isPlain: isPlain)), location: location)
        }
    }

    private mutating func child(
        _ index: yaml_node_item_t, of document: inout yaml_document_t, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        guard let node = unsafe yaml_document_get_node(&document, index) else {
            preconditionFailure("a document has the nodes that it names")
        }
        return try unsafe tree(node.pointee, of: &document, depth: depth + 1)
    }

    private var error: YAMLError {
        // Only without memory it gives no reason.
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "not enough memory"
        let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) + ": " } ?? ""
        let mark = unsafe ConfigurationProblem.Location(parser.pointee.problem_mark)
        guard unsafe parser.pointee.error == YAML_READER_ERROR else {
            return YAMLError(message: context + problem, location: mark)
        }
        return unsafe YAMLError(message: problem, location: place(of: parser.pointee.problem_offset))
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
