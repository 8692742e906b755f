import CRabbitMQ
import Core
import DequeModule

extension AMQPEngine {
    /// Processes one frame and copies what it keeps: the frame's memory is valid only during the call.
    mutating func frameReceived(_ frame: FrameReader.Frame) {
        let channel = unsafe Int(frame.channel)
        guard channel <= (inspection.state == .closed ? max(1, consumers.count) : channels.count) else {
            return unexpected("a frame for a channel that is not open")
        }
        switch unsafe frame.payload {
        case .method(let method) where channel == 0: unsafe handle(method, on: 0)
        case .method(let method): unsafe methodReceived(method, on: channel)
        case .contentHeader(let classID, let bodySize, let properties):
            guard channel > 0,
                unsafe channels[channel - 1].assembly.headerReceived(
                    classID: classID, bodySize: bodySize, properties: properties)
            else { return unexpected("a content header") }
            takeContent(channel - 1)
        case .body(let bytes):
            guard channel > 0, unsafe channels[channel - 1].assembly.bodyReceived(bytes) else {
                return unexpected("a body frame")
            }
            takeContent(channel - 1)
        case .heartbeat: break
        }
    }

    private mutating func methodReceived(_ method: amqp_method_t, on channel: Int) {
        let index = channel - 1
        guard channels[index].assembly.isIdle else { return unexpected("a method in the middle of a message") }
        switch unsafe method.id {
        case AMQP_BASIC_DELIVER_METHOD:
            let deliver = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self)
            guard unsafe isConsumer(index, of: deliver.pointee.consumer_tag) else {
                return unexpected("a delivery for an unknown consumer")
            }
            let origin = unsafe ContentAssembly.Origin.delivery(
                tag: deliver.pointee.delivery_tag, redelivered: deliver.pointee.redelivered != 0)
            unsafe channels[index].assembly.begin(
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
            unsafe channels[index].assembly.begin(
                origin, exchange: returned.pointee.exchange, routingKey: returned.pointee.routing_key)
        case AMQP_BASIC_GET_OK_METHOD:
            let got = unsafe method.decoded.assumingMemoryBound(to: amqp_basic_get_ok_t.self)
            let origin = unsafe ContentAssembly.Origin.got(
                tag: got.pointee.delivery_tag, redelivered: got.pointee.redelivered != 0,
                remaining: got.pointee.message_count)
            unsafe channels[index].assembly.begin(
                origin, exchange: got.pointee.exchange, routingKey: got.pointee.routing_key)
        default: unsafe handle(method, on: UInt16(channel))
        }
    }

    private mutating func takeContent(_ index: Int) {
        guard channels[index].assembly.isComplete else { return }
        let content = channels[index].assembly.take()
        switch content.origin {
        case .delivery(let tag, let redelivered):
            guard machine.isOpen else { return }
            guard let delivery = delivery(content, tag: tag, redelivered: redelivered, on: index) else { return }
            consumers[index].watch?.delivered(at: now)
            events.append(.delivery(consume delivery))
        case .got(let tag, let redelivered, let remaining):
            guard machine.isOpen else { return }
            guard let delivery = delivery(content, tag: tag, redelivered: redelivered, on: index) else { return }
            responseReceived(.got(delivery, remaining: remaining))
        case .returned(let code, let text):
            publicationReturned(content, code: code, text: text)
        }
    }

    /// Records a delivery under a number that no earlier channel of this connection has used.
    private mutating func delivery(
        _ content: ContentAssembly.Content, tag: UInt64, redelivered: Bool, on index: Int
    ) -> Delivery? {
        let number = channels[index].number(of: tag)
        guard channels[index].deliveries.deliveryReceived(number) else {
            unexpected("a delivery tag out of order")
            return nil
        }
        return Delivery(
            epoch: epoch, tag: number, redelivered: redelivered, queue: QueueID(index), timestamp: content.timestamp,
            storage: content.storage, layout: content.layout, headers: content.headers)
    }

    mutating func unexpected(_ what: String) {
        finish(
            AMQPError(.unexpectedFrame, "the broker sent an unexpected frame: \(what)"))
    }
}
