package import Core

extension Delivery {
    /// The message with its body decoded by its `content_encoding`, and without that property.
    ///
    /// Clients such as kombu write the character set into `content_encoding`, which is not an encoding. Source of the
    /// names: RFC 9110, section 8.4.1.
    ///
    /// - Parameter limit: the maximum size of the body, in bytes: `broker.maximum_message_bytes`.
    package func decompressed(limit: Int) throws(DecodingFailure) -> Delivery {
        guard hasContentEncoding, let encoding = contentEncoding else { return self }
        let format: CompressedFormat
        switch String(decoding: encoding, as: UTF8.self).lowercased() {
        case "identity", "utf-8", "us-ascii": return self
        case "gzip", "x-gzip": format = .gzip
        case "deflate": format = .zlib
        case let other:
            throw DecodingFailure("content-encoding: \"\(other)\" is not one of gzip, deflate, identity")
        }
        do {
            return decompressed(to: try format.decompress(body, limit: limit))
        } catch {
            switch error {
            case .tooLarge:
                throw DecodingFailure(
                    "content-encoding: the body is larger than broker.maximum_message_bytes (\(limit)) allows after "
                        + "decompression", limit: .body)
            case .truncated: throw DecodingFailure("content-encoding: the body ends before its \(format) data does")
            case .trailingData: throw DecodingFailure("content-encoding: there are bytes after the \(format) data")
            case .damaged(let reason):
                throw DecodingFailure("content-encoding: the body is not \(format) data: \(reason)")
            }
        }
    }
}
