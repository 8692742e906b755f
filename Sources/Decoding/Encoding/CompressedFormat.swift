import CZlib
import Core

/// A compression format. Sources: RFC 1950 (zlib, `deflate` in HTTP), RFC 1951 (raw deflate), RFC 1952 (gzip).
///
/// Each is the base-two logarithm of the largest window; 16 more for gzip, negative for raw deflate. Source: zlib.h.
enum CompressedFormat: Int32 {
    case gzip = 31
    case zlib = 15
    case deflate = -15

    /// Bytes decompressed per step.
    private static let chunk = 16_384

    /// - Parameter limit: the maximum size of the result, in bytes; decompression stops beyond it.
    func decompress(_ data: ArraySlice<UInt8>, limit: Int) throws(DecodingFailure) -> [UInt8] {
        var stream = unsafe z_stream()
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        guard unsafe inflateInit2_(&stream, rawValue, ZLIB_VERSION, size) == Z_OK else {
            throw unsafe damaged(stream)
        }
        defer { unsafe inflateEnd(&stream) }
        // A mutable copy for zlib, which only reads it.
        var data = Array(data)
        let count = data.count
        return try unsafe data.withUnsafeMutableBufferPointer { input throws(DecodingFailure) in
            unsafe stream.next_in = input.baseAddress
            unsafe stream.avail_in = UInt32(count)
            return try unsafe decompress(&stream, limit)
        }
    }

    private func decompress(_ stream: inout z_stream, _ limit: Int) throws(DecodingFailure) -> [UInt8] {
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let code = unsafe chunk.withUnsafeMutableBufferPointer { output in
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                return unsafe inflate(&stream, Z_NO_FLUSH)
            }
            result += unsafe chunk.prefix(chunk.count - Int(stream.avail_out))
            guard result.count <= limit else {
                throw failure(
                    "the body is larger than broker.max_message_bytes (\(limit)) allows after decompression",
                    limit: .body)
            }
            switch code {
            case Z_OK: break
            case Z_STREAM_END where unsafe stream.avail_in == 0: return result
            // A gzip file can have several members.
            case Z_STREAM_END where self == .gzip:
                guard unsafe inflateReset(&stream) == Z_OK else { throw unsafe damaged(stream) }
            case Z_STREAM_END: throw failure("there are bytes after the \(self) data")
            case Z_BUF_ERROR: throw failure("the body ends before its \(self) data does")
            case Z_NEED_DICT: throw damaged("it needs a dictionary")
            default: throw unsafe damaged(stream)
            }
        }
    }

    private func damaged(_ stream: z_stream) -> DecodingFailure {
        damaged(unsafe stream.msg.map { unsafe String(cString: $0) } ?? "zlib gives no reason")
    }

    private func damaged(_ reason: String) -> DecodingFailure {
        failure("the body is not \(self) data: \(reason)")
    }

    private func failure(_ text: String, limit: DecodingLimit? = nil) -> DecodingFailure {
        DecodingFailure("content-encoding: \(text)", limit: limit)
    }
}
