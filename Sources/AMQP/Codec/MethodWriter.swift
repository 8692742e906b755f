import CRabbitMQ
import Core

/// Writes method frames with librabbitmq's encoder, except on the hot path.
///
/// The library requires strings and tables in its own types. They are allocated from a pool that is recycled after
/// each method. A table is encoded to wire format, then decoded by the library.
@safe
struct MethodWriter: ~Copyable {
    private var pool = LibraryPool()
    /// An upper bound, in bytes, for the strings and tables of the current method on the wire.
    private var variableSize = 0

    /// Appends one frame. `make` builds the method and may use ``short(_:_:)``, ``long(_:)`` and ``table(_:)``.
    mutating func write<Method>(
        _ id: amqp_method_number_t, channel: UInt16, to output: inout ByteQueue,
        _ make: (inout MethodWriter) throws(AMQPError) -> Method
    ) throws(AMQPError) {
        variableSize = 0
        defer { pool.recycle() }
        var method = try make(&self)
        let start = output.count
        output.beginFrame(.method, channel: channel, size: 0)
        output.append(bigEndian: id)
        let size = unsafe output.append(upTo: variableSize + 64) { buffer in
            let encoded = unsafe amqp_bytes_t(len: buffer.count, bytes: buffer.baseAddress)
            return unsafe withUnsafeMutablePointer(to: &method) { unsafe Int(amqp_encode_method(id, $0, encoded)) }
        }
        output.overwrite(at: start + 3, bigEndian: UInt32(4 + size))
        output.endFrame()
    }

    /// A string of at most 255 bytes.
    mutating func short(_ text: String, _ what: StaticString) throws(AMQPError) -> amqp_bytes_t {
        let bytes = Array(text.utf8)
        try ShortString.check(bytes[...], what)
        return unsafe long(bytes)
    }

    mutating func table(_ table: FieldTable) throws(AMQPError) -> amqp_table_t {
        let wire = try table.wire()
        var result = unsafe amqp_table_t()
        var offset = 0
        let status = unsafe amqp_decode_table(long(wire), &pool.raw, &result, &offset)
        guard status == 0 else {
            let text = unsafe String(cString: amqp_error_string2(status))
            throw AMQPError(.badTable, "arguments cannot be encoded: \(text)", isTransient: false)
        }
        return unsafe result
    }

    mutating func long(_ bytes: [UInt8]) -> amqp_bytes_t {
        variableSize += bytes.count + 4
        var result = unsafe amqp_bytes_t()
        guard !bytes.isEmpty else { return unsafe result }
        unsafe amqp_pool_alloc_bytes(&pool.raw, bytes.count, &result)
        unsafe UnsafeMutableRawPointer(result.bytes!).copyMemory(from: bytes, byteCount: bytes.count)
        return unsafe result
    }
}

/// Memory of librabbitmq's codec.
@safe
struct LibraryPool: ~Copyable {
    var raw = unsafe amqp_pool_t()

    init() {
        unsafe init_amqp_pool(&raw, 4096)
    }

    deinit {
        var raw = unsafe raw
        unsafe empty_amqp_pool(&raw)
    }

    /// Everything allocated from it may be overwritten.
    mutating func recycle() {
        unsafe recycle_amqp_pool(&raw)
    }
}
