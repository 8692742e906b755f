import Core

/// `connection.update-secret`, an extension of RabbitMQ: another password for an open connection, which counts where
/// the password is a token that expires.
///
/// Source: rabbitmq.com/docs/specification (amqp0-9-1.xml).
enum SecretUpdate {
    private static let request: UInt32 = 0x000A_0046
    static let ok: UInt32 = 0x000A_0047
    /// The broker logs it.
    private static let reason = Array("token renewed".utf8)[...]

    static func write(_ secret: String, frameMax: Int, to output: inout ByteQueue) throws(AMQPError) {
        let secret = Array(secret.utf8)[...]
        let size = 4 + 4 + secret.count + 1 + reason.count
        guard size + FrameFormat.overhead <= frameMax else {
            throw AMQPError(.secretRefused, "the new password has \(secret.count) bytes; a frame holds \(frameMax)")
        }
        output.beginFrame(.method, channel: 0, size: size)
        output.append(bigEndian: request)
        output.append(bigEndian: UInt32(secret.count))
        output.append(secret)
        output.append(short: reason)
        output.endFrame()
    }
}
