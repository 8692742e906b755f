package import Core

extension Delivery {
    /// The message as decoders read it: decompressed, without AMQP 1.0's frame of a value, without a byte order mark.
    ///
    /// Clients write the character set into `content_encoding`, which is not an encoding, or a word that says nothing.
    /// Sources: RFC 9110, section 8.4.1 (the names of encodings); RFC 8259, section 8.1 (the byte order mark).
    ///
    /// - Parameter limit: the maximum size of the body, in bytes: `broker.max_message_bytes`.
    package func readable(limit: Int) throws(DecodingFailure) -> Delivery {
        let delivery = hasContentEncoding ? try decompressed(limit: limit) : self
        // Most bodies begin with a bracket, so they end the search here.
        switch delivery.body.first {
        case 0x00: return delivery.unwrapped().withoutMark()
        case 0xEF: return delivery.withoutMark()
        default: return delivery
        }
    }

    private func decompressed(limit: Int) throws(DecodingFailure) -> Delivery {
        let encoding = contentEncoding ?? []
        let format: CompressedFormat
        switch String(decoding: encoding, as: UTF8.self).lowercased().filter({ !$0.isWhitespace }) {
        case "", "identity", "none", "utf-8", "utf8", "us-ascii", "ascii", "binary", "8bit", "7bit": return self
        case "gzip", "x-gzip": format = .gzip
        case "deflate": format = .zlib
        default:
            throw DecodingFailure(
                "content-encoding: \(RequestFields.quoted(encoding)) is not one of gzip, deflate, identity")
        }
        return decompressed(to: try format.decompress(body, limit: limit))
    }

    /// Without the section of an AMQP 1.0 client that sent its body as a value, not as data. RabbitMQ passes such a
    /// section on as it is. Source: AMQP 1.0, sections 1.6 (the codes of text and binary) and 3.2.8.
    private func unwrapped() -> Delivery {
        let body = body
        guard let rest = Self.descriptors.first(where: { body.starts(with: $0) }).map({ body.dropFirst($0.count) }),
            let code = rest.first
        else { return self }
        let width: Int
        switch code {
        case 0xA0, 0xA1: width = 1
        case 0xB0, 0xB1: width = 4
        default: return self
        }
        let length = rest.dropFirst().prefix(width)
        let value = rest.dropFirst(1 + width)
        guard length.count == width, value.count == length.reduce(0, { $0 << 8 | Int($1) }) else { return self }
        return trimmed(to: value.startIndex - body.startIndex..<value.endIndex - body.startIndex)
    }

    /// `amqp-value`, as a small and as a full unsigned long.
    private static let descriptors: [[UInt8]] = [[0x00, 0x53, 0x77], [0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x77]]

    private func withoutMark() -> Delivery {
        let body = body
        guard body.starts(with: [0xEF, 0xBB, 0xBF]) else { return self }
        return trimmed(to: 3..<body.count)
    }
}
