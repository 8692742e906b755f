package import Core

extension Delivery {
    /// The message as decoders read it: decompressed, without AMQP 1.0's frame of a value, without a byte order mark.
    ///
    /// Clients write the character set into `content_encoding`, which is not an encoding, or a word that says nothing.
    /// Sources: RFC 9110, section 8.4.1 (the names of encodings); RFC 8259, section 8.1 (the byte order mark).
    ///
    /// - Parameter limit: the maximum size of the body, in bytes: `broker.max_message_bytes`.
    package func readable(limit: Int) throws(DecodingFailure) -> Delivery {
        // Most bodies begin with a bracket, so they need none of these steps.
        let whole = body.first == 0x00 ? ValueSection.unwrap(self) : self
        let delivery = whole.hasContentEncoding ? try whole.decompressed(limit: limit) : whole
        guard delivery.body.first == 0xEF, delivery.body.starts(with: [0xEF, 0xBB, 0xBF]) else { return delivery }
        return delivery.trimmed(to: delivery.body.dropFirst(3))
    }

    /// The beginnings of the names of character sets.
    private static let characterSets = [
        "ansi", "big5", "charset=", "cp", "euc-", "gb", "iso", "koi8", "latin", "shift_jis", "ucs-", "unicode", "utf",
        "windows-",
    ]

    private func decompressed(limit: Int) throws(DecodingFailure) -> Delivery {
        let encoding = contentEncoding ?? []
        let format: CompressedFormat
        let name = String(decoding: encoding, as: UTF8.self).lowercased().filter { !$0.isWhitespace }
        switch name {
        case "", "identity", "none", "us-ascii", "ascii", "binary", "8bit", "7bit": return self
        case _ where !name.contains(",") && Self.characterSets.contains(where: { name.hasPrefix($0) }): return self
        case "gzip", "x-gzip": format = .gzip
        // The first byte of zlib has its method, 8, in these bits; raw deflate from encoders never begins so.
        case "deflate": format = (body.first ?? 0x08) & 0x0F == 0x08 ? .zlib : .deflate
        default:
            throw DecodingFailure(
                "content-encoding: \(RequestFields.quoted(encoding)) is not supported; expected gzip, deflate or none")
        }
        return decompressed(to: try format.decompress(body, limit: limit))
    }
}

/// The section of an AMQP 1.0 client that sent its body as a value, not as data. RabbitMQ passes such a section on
/// unchanged. Source: AMQP 1.0, sections 1.6 (the codes of types) and 3.2.8.
enum ValueSection {
    /// `amqp-value`, as a small and as a full unsigned long.
    static let descriptors: [[UInt8]] = [[0x00, 0x53, 0x77], [0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x77]]

    /// The same message without the section; unchanged unless it holds text or binary.
    static func unwrap(_ delivery: Delivery) -> Delivery {
        let body = delivery.body
        guard let rest = descriptors.first(where: { body.starts(with: $0) }).map({ body.dropFirst($0.count) }),
            let code = rest.first
        else { return delivery }
        let width: Int
        switch code {
        case 0xA0, 0xA1: width = 1
        case 0xB0, 0xB1: width = 4
        default: return delivery
        }
        let length = rest.dropFirst().prefix(width)
        let value = rest.dropFirst(1 + width)
        guard length.count == width, value.count == length.reduce(0, { $0 << 8 | Int($1) }) else { return delivery }
        return delivery.trimmed(to: value)
    }
}
