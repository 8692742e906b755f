import CRabbitMQ
import Core

extension AMQPEngine {
    /// Takes one frame; what it points to is copied before this returns.
    func handle(_ frame: amqp_frame_t) {
        guard unsafe frame.channel <= AMQPEngine.channel else {
            return unexpected("a frame for a channel that is not open")
        }
        switch unsafe Int32(frame.frame_type) {
        case AMQP_FRAME_METHOD: unsafe handle(frame.payload.method)
        case AMQP_FRAME_HEADER:
            guard unsafe assembly.headerReceived(frame) else { return unexpected("a content header") }
            takeContent()
        case AMQP_FRAME_BODY:
            guard unsafe assembly.bodyReceived(frame.payload.body_fragment) else { return unexpected("a body frame") }
            takeContent()
        case AMQP_FRAME_HEARTBEAT: break
        default: fail(mismatch(underlying: nil))
        }
    }

    private func handle(_ method: amqp_method_t) {
        guard assembly.isIdle else { return unexpected("a method in the middle of a message") }
        switch unsafe method.id {
        case AMQP_BASIC_DELIVER_METHOD:
            let deliver = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self)
            guard let queue = unsafe queue(of: deliver.pointee.consumer_tag) else {
                return unexpected("a delivery for an unknown consumer")
            }
            let origin = unsafe ContentAssembly.Origin.delivery(
                queue: queue, tag: deliver.pointee.delivery_tag, redelivered: deliver.pointee.redelivered != 0)
            _ = unsafe assembly.begin(
                origin, exchange: deliver.pointee.exchange, routingKey: deliver.pointee.routing_key)
        case AMQP_BASIC_ACK_METHOD:
            let ack = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_ack_t.self)
            unsafe confirm(ack.pointee.delivery_tag, multiple: ack.pointee.multiple != 0, acked: true)
        case AMQP_BASIC_NACK_METHOD:
            let nack = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_nack_t.self)
            unsafe confirm(nack.pointee.delivery_tag, multiple: nack.pointee.multiple != 0, acked: false)
        case AMQP_BASIC_RETURN_METHOD:
            let returned = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_return_t.self)
            let origin = unsafe ContentAssembly.Origin.returned(
                code: returned.pointee.reply_code, text: returned.pointee.reply_text.text)
            _ = unsafe assembly.begin(
                origin, exchange: returned.pointee.exchange, routingKey: returned.pointee.routing_key)
        case AMQP_BASIC_GET_OK_METHOD:
            let got = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_get_ok_t.self)
            let origin = unsafe ContentAssembly.Origin.got(
                tag: got.pointee.delivery_tag, redelivered: got.pointee.redelivered != 0,
                remaining: got.pointee.message_count)
            _ = unsafe assembly.begin(origin, exchange: got.pointee.exchange, routingKey: got.pointee.routing_key)
        default: unsafe handle(InboundMethod(method))
        }
    }

    private func takeContent() {
        guard let content = assembly.takeComplete() else { return }
        switch content.origin {
        case .delivery(let queue, let tag, let redelivered):
            guard machine.isOpen else { return }
            let delivery = Delivery(
                epoch: epoch, tag: tag, redelivered: redelivered, queue: queue, timestamp: content.timestamp,
                storage: content.storage, layout: content.layout, headers: content.headers)
            guard deliveries.deliveryReceived(tag) else { return unexpected("a delivery tag out of order") }
            if let size = content.oversizeBody {
                events.append(.oversize(delivery, bodySize: size))
            } else {
                events.append(.delivery(delivery))
            }
        case .got(let tag, let redelivered, let remaining):
            guard machine.isOpen else { return }
            let delivery = Delivery(
                epoch: epoch, tag: tag, redelivered: redelivered, queue: 0, timestamp: content.timestamp,
                storage: content.storage, layout: content.layout, headers: content.headers)
            guard deliveries.deliveryReceived(tag) else { return unexpected("a delivery tag out of order") }
            replyReceived(.got(delivery, remaining: remaining, oversizeBody: content.oversizeBody))
        case .returned(let code, let text):
            publicationReturned(content, code: code, text: text)
        }
    }

    func unexpected(_ what: String) {
        fail(
            AMQPError(
                .unexpectedFrame, "the broker sent what does not belong here: \(what)", blame: .remote,
                isTransient: true))
    }
}
