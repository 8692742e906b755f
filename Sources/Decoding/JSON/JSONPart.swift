package import Core

/// A value within validated JSON. Nothing is copied, and numbers and strings stay encoded.
package struct JSONPart: Sendable {
    let document: ArraySlice<UInt8>
    let value: JSONValue

    /// Parses a document that contains exactly one value.
    package init(_ document: ArraySlice<UInt8>) throws(JSONFailure) {
        var scanner = JSONScanner()
        value = try scanner.value(document.span, depth: 0)
        try scanner.end(document.span)
        self.document = document
    }

    /// - Parameter place: the document's name in an error.
    init(_ document: ArraySlice<UInt8>, called place: String) throws(DecodingFailure) {
        do throws(JSONFailure) {
            try self.init(document)
        } catch {
            throw DecodingFailure(error, of: document, in: place)
        }
    }

    /// - Parameter value: what a scanner found in the document.
    init(_ value: JSONValue, of document: ArraySlice<UInt8>) {
        self.value = value
        self.document = document
    }

    package var kind: JSONValue.Kind { value.kind }

    /// The encoded value; a string includes its quotes.
    package var raw: ArraySlice<UInt8> {
        value.kind == .string
            ? document.slice(value.range.lowerBound - 1..<value.range.upperBound + 1) : document.slice(value.range)
    }

    /// The text of a string: a view of the document unless it has escapes.
    package var text: ArraySlice<UInt8>? {
        value.kind == .string ? document.text(of: value) : nil
    }

    package var integer: Int64? {
        value.kind == .number ? JSONText.wholeNumber(document.slice(value.range)) : nil
    }

    /// The members of an object, in order; a key may occur twice.
    package var members: [(key: ArraySlice<UInt8>, part: JSONPart)] {
        var members: [(ArraySlice<UInt8>, JSONPart)] = []
        walk("{") { bytes, scanner throws(JSONFailure) in
            while let key = try scanner.nextKey(bytes) {
                let value = try scanner.value(bytes, depth: 0)
                guard let text = document.text(of: key) else { continue }
                members.append((text, JSONPart(value, of: document)))
            }
        }
        return members
    }

    /// Empty for any other type.
    package var elements: [JSONPart] {
        var elements: [JSONPart] = []
        walk("[") { bytes, scanner throws(JSONFailure) in
            while try scanner.nextElement(bytes) {
                elements.append(JSONPart(try scanner.value(bytes, depth: 0), of: document))
            }
        }
        return elements
    }

    /// The texts of an array's elements, unwrapped from ``KombuValue``; an element of another type is empty. None for
    /// any other type of the whole.
    var texts: [ArraySlice<UInt8>] {
        var texts: [ArraySlice<UInt8>] = []
        walk("[") { bytes, scanner throws(JSONFailure) in
            while try scanner.nextElement(bytes) {
                let part = JSONPart(try scanner.value(bytes, depth: 0), of: document)
                if part.kind == .object, case .text(let text)? = KombuValue.plain(part) {
                    texts.append(text)
                } else {
                    texts.append(part.text ?? [])
                }
            }
        }
        return texts
    }

    subscript(key: some Collection<UInt8>) -> JSONPart? {
        var found: JSONPart?
        walk("{") { bytes, scanner throws(JSONFailure) in
            while let name = try scanner.nextKey(bytes) {
                let value = try scanner.value(bytes, depth: 0)
                if document.text(of: name)?.elementsEqual(key) == true { found = JSONPart(value, of: document) }
            }
        }
        return found?.kind == .null ? nil : found
    }

    /// The last member of an object with this key; `nil` also if it is `null`, and for any other type.
    package subscript(key: String) -> JSONPart? {
        self[key.utf8]
    }

    /// Appends the value to composed JSON, with characters in place of `\u` escapes, which are longer.
    func append(to json: inout [UInt8]) {
        // Each level of brackets is read anew. An escape has six bytes for at least one, so a larger value cannot fit.
        let mayFit = raw.count <= 6 * RequestFields.maximumBroadcast
        guard mayFit, raw.contains(UInt8(ascii: "\\")) else { return json += raw }
        switch kind {
        case .string:
            if let text { json.appendJSON(string: text) } else { json += raw }
        case .array:
            json.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                element.append(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .object:
            json.append(UInt8(ascii: "{"))
            walk("{") { bytes, scanner throws(JSONFailure) in
                while let key = try scanner.nextKey(bytes) {
                    if json.last != UInt8(ascii: "{") { json.append(UInt8(ascii: ",")) }
                    JSONPart(key, of: document).append(to: &json)
                    json.append(UInt8(ascii: ":"))
                    JSONPart(try scanner.value(bytes, depth: 0), of: document).append(to: &json)
                }
            }
            json.append(UInt8(ascii: "}"))
        case .number, .boolean, .null: json += raw
        }
    }

    private func walk(
        _ bracket: Unicode.Scalar, _ body: (Span<UInt8>, inout JSONScanner) throws(JSONFailure) -> Void
    ) {
        var scanner = JSONScanner(at: value.range.lowerBound)
        guard value.kind != .string, scanner.open(document.span, bracket) else { return }
        do throws(JSONFailure) {
            try body(document.span, &scanner)
        } catch {
            preconditionFailure("a part lies in JSON that has been checked")
        }
    }
}

/// The members of an object by key, for formats with many keys. The last of duplicate keys counts, and `null` is the
/// same as a missing key.
extension Array<(key: ArraySlice<UInt8>, part: JSONPart)> {
    subscript(key: StaticString) -> JSONPart? {
        guard let part = last(where: { $0.key.equals(key) })?.part, part.kind != .null else { return nil }
        return part
    }
}
