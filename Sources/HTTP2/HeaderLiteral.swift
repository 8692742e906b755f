import CNghttp2

/// A field that goes into many header blocks, encoded once: Huffman-coded and never indexed (RFC 7541, section 6.2.3), so that
/// its bytes are the same in whichever block.
package struct HeaderLiteral: Equatable, Sendable {
    let bytes: [UInt8]
    /// What SETTINGS_MAX_HEADER_LIST_SIZE counts for it, in bytes.
    let size: Int

    package init(_ name: HeaderName, _ value: Span<UInt8>) {
        size = name.count + value.count + HeaderBlock.overhead
        bytes = unsafe value.withUnsafeBufferPointer { unsafe Self.encode(name, $0) }
    }

    /// By nghttp2, whose encoder has the code's table.
    private static func encode(_ name: HeaderName, _ value: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var encoder: OpaquePointer?
        let failure = unsafe nghttp2_hd_deflate_new(&encoder, HeaderEncoder.maximumTable)
        precondition(failure == 0, "out of memory")
        defer { unsafe nghttp2_hd_deflate_del(encoder) }
        var field = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.text.utf8Start),
            value: UnsafeMutablePointer(mutating: value.baseAddress),
            namelen: name.count, valuelen: value.count, flags: UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue))
        let bound = unsafe nghttp2_hd_deflate_bound(encoder, &field, 1)
        return unsafe Array(unsafeUninitializedCapacity: bound) { buffer, count in
            let written = unsafe nghttp2_hd_deflate_hd(encoder, buffer.baseAddress, bound, &field, 1)
            precondition(written >= 0, "out of memory")
            count = written
        }
    }
}
