import CRabbitMQ
import Core

/// librabbitmq's parser: bytes in any portions become frames.
///
/// What a frame points to lives until the handler returns. After bytes that are not AMQP the parser must not be fed
/// again, so it is destroyed with the first error.
@safe
final class FrameReader {
    private var state: amqp_connection_state_t?

    init() {
        unsafe state = amqp_new_connection()
        precondition(unsafe state != nil, "there is memory for a parser")
    }

    deinit {
        destroy()
    }

    /// Adopts the negotiated frame size; only between two frames, as in a handler.
    func tune(frameMax: UInt32, heartbeat: UInt16) {
        guard let state = unsafe state else { return }
        let status = unsafe amqp_tune_connection(state, 1, Int32(frameMax), Int32(heartbeat))
        precondition(status == 0, "there is memory for a frame")
    }

    /// Hands every frame that is complete to `handle`, which says whether to go on.
    func read(_ bytes: Span<UInt8>, _ handle: (amqp_frame_t) -> Bool) throws(AMQPError) {
        guard let state = unsafe state else { return }
        let status = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe Self.read(buffer, state, handle)
        }
        guard status < 0 else { return }
        destroy()
        let text = unsafe String(cString: amqp_error_string2(status))
        throw AMQPError(
            .badData, "the peer's bytes are not AMQP 0-9-1: \(text)", blame: .remote, isTransient: true)
    }

    private static func read(
        _ buffer: UnsafeBufferPointer<UInt8>, _ state: amqp_connection_state_t, _ handle: (amqp_frame_t) -> Bool
    ) -> Int32 {
        var offset = 0
        while offset < buffer.count {
            let rest = unsafe amqp_bytes_t(
                len: buffer.count - offset, bytes: UnsafeMutableRawPointer(mutating: buffer.baseAddress! + offset))
            var frame = unsafe amqp_frame_t()
            let consumed = unsafe amqp_handle_input(state, rest, &frame)
            guard consumed > 0 else { return consumed }
            offset += Int(consumed)
            guard unsafe frame.frame_type != 0 else { continue }
            let goesOn = unsafe handle(frame)
            unsafe amqp_maybe_release_buffers_on_channel(state, frame.channel)
            guard goesOn else { return 0 }
        }
        return 0
    }

    private func destroy() {
        guard let state = unsafe state else { return }
        unsafe amqp_destroy_connection(state)
        unsafe self.state = nil
    }
}

extension amqp_bytes_t {
    /// The bytes as they lie in the parser's memory.
    var buffer: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: bytes?.assumingMemoryBound(to: UInt8.self), count: bytes == nil ? 0 : len)
    }

    /// A copy; what is not UTF-8 is replaced.
    var text: String {
        unsafe String(decoding: buffer, as: UTF8.self)
    }
}
