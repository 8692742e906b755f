import Glibc

/// The parts of a request's head that a server and a proxy before it must interpret alike.
///
/// Ambiguous requests are refused. A proxy that interprets one differently would let a hidden second request pass, or
/// send it under another name. Source: RFC 9112, sections 3.2 and 6.3.
struct RequestHead {
    /// For example `HTTP/1.1`.
    var version: String
    /// The values of each header line with this name.
    var hosts: [String]
    var lengths: [String]
    var encodings: [String]

    /// The request's target host; `nil` if an old client does not send it.
    ///
    /// - Throws: the error in the head.
    func host() throws(Failure) -> HostName? {
        if hosts.isEmpty, version == "HTTP/1.0" { return nil }
        guard hosts.count == 1 else { throw Failure(message: "expected one Host, found \(hosts.count)") }
        guard let host = HostName(hosts[0]) else {
            throw Failure(message: "Host: expected a name or an address, optionally with a port")
        }
        return host
    }

    /// - Throws: if the end of the request's body is ambiguous.
    func checkLength() throws(Failure) {
        guard lengths.count < 2 else { throw Failure(message: "expected one Content-Length, found \(lengths.count)") }
        guard lengths.isEmpty || encodings.isEmpty else {
            throw Failure(message: "expected either Content-Length or Transfer-Encoding, found both")
        }
        guard lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isDigit) }) else {
            throw Failure(message: "Content-Length: expected a number")
        }
        guard encodings.isEmpty || encodings.map({ $0.lowercased() }) == ["chunked"] else {
            throw Failure(message: "Transfer-Encoding: expected chunked")
        }
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    struct Failure: Error {
        let message: String
    }
}

/// The value of a `Host` header. Source: RFC 9110, section 7.2, and RFC 3986, section 3.2.
struct HostName: Equatable {
    private enum Kind: Equatable {
        case name(String)
        case ipv6(String)
    }

    private let kind: Kind

    /// - Returns: `nil` unless it is a name or an address, optionally followed by a port.
    init?(_ text: String) {
        let rest: Substring
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            let address = String(text[text.index(after: text.startIndex)..<bracket])
            var bytes = in6_addr()
            guard unsafe inet_pton(AF_INET6, address, &bytes) == 1 else { return nil }
            kind = .ipv6(address)
            rest = text[text.index(after: bracket)...]
        } else {
            let name = text.prefix { $0 != ":" }
            // A client may send an empty value, without a port.
            guard !name.isEmpty || text.isEmpty, name.utf8.allSatisfy(Self.isNameByte) else { return nil }
            kind = .name(String(name))
            rest = text[name.endIndex...]
        }
        guard rest.isEmpty || Self.isPort(rest) else { return nil }
    }

    /// Whether it is a loopback name, which cannot belong to another host.
    var isLoopback: Bool {
        switch kind {
        case .ipv6(let address): address == "::1"
        case .name(let name):
            // Digits and dots alone are not a name that can be registered.
            name.lowercased() == "localhost"
                || (name.hasPrefix("127.")
                    && name.utf8.allSatisfy { RequestHead.isDigit($0) || $0 == UInt8(ascii: ".") })
        }
    }

    /// `:` and 1 to 65535.
    private static func isPort(_ text: Substring) -> Bool {
        guard text.hasPrefix(":"), text.dropFirst().utf8.allSatisfy(RequestHead.isDigit) else { return false }
        return UInt16(text.dropFirst()).map { $0 > 0 } ?? false
    }

    /// Letters, digits, and the other characters of DNS names.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
