extension Endpoint {
    /// Parses `host:port`, with an IPv6 address in brackets.
    ///
    /// - Parameter defaultPort: of a text without a port; `nil` requires one.
    package init?(_ text: Substring, defaultPort: UInt16?) {
        var host = text
        var port = defaultPort
        var portText: Substring?
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":"), host.contains(":") else { return nil }
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            portText = text[text.index(after: colon)...]
            guard !host.contains(":") else { return nil }
        }
        if let portText {
            // A number may have a sign, a port may not.
            guard let number = UInt16(portText), portText.first?.isNumber == true else { return nil }
            port = number
        }
        guard let port, host.utf8.allSatisfy({ $0.isLetterOrDigit(or: ".-_:%") }) else { return nil }
        self.init(host: String(host), port: port)
    }
}

/// Percent-encoding. Source: RFC 3986, section 2.1.
package enum PercentEncoding {
    /// - Returns: `nil` unless each percent sign begins a code.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// - Returns: `nil` unless each percent sign begins a code, and the result is UTF-8.
    package static func decode(_ text: Substring) -> String? {
        decode(ArraySlice(text.utf8)).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
