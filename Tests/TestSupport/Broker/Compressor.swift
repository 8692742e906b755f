import CZlib

/// Compresses bodies as producers do.
package enum Compressor {
    package static func gzip(_ bytes: [UInt8]) -> [UInt8] { compress(bytes, windowBits: 15 + 16) }

    /// HTTP's `deflate`; deflate alone with -15 bits.
    package static func zlib(_ bytes: [UInt8], bits: Int32 = 15) -> [UInt8] { compress(bytes, windowBits: bits) }

    private static func compress(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = unsafe z_stream()
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        let code = unsafe deflateInit2_(
            &stream, Z_BEST_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        precondition(code == Z_OK, "zlib starts")
        defer { unsafe deflateEnd(&stream) }
        var input = bytes
        // With a gzip header and trailer.
        var output = [UInt8](repeating: 0, count: unsafe Int(deflateBound(&stream, UInt(bytes.count))) + 32)
        unsafe input.withUnsafeMutableBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe stream.next_in = input.baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                let code = unsafe deflate(&stream, Z_FINISH)
                precondition(code == Z_STREAM_END, "the output has room")
            }
        }
        return Array(unsafe output.prefix(output.count - Int(stream.avail_out)))
    }
}
