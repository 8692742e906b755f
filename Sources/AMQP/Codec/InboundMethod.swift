import CRabbitMQ

/// An infrequent method from the broker, copied out of the parser. Deliveries and confirms bypass this type.
enum InboundMethod {
    case start(ServerProperties, isVersion091: Bool, mechanisms: [Substring])
    case tune(channelMax: UInt16, frameMax: UInt32, heartbeat: UInt16)
    case openOk
    case close(code: UInt16, text: String)
    case closeOk
    case secretUpdated
    case blocked(reason: String)
    case unblocked
    case channelOpenOk
    case channelFlow(isActive: Bool)
    case channelClose(code: UInt16, text: String)
    case channelCloseOk
    case confirmSelectOk
    case qosOk
    case consumeOk(consumerTag: String)
    case cancel(consumerTag: String)
    case cancelOk(consumerTag: String)
    case response(ControlResponse)
    case other(UInt32)
}

/// The broker's self-description.
package struct ServerProperties: Sendable, Equatable {
    package var product = ""
    package var version = ""

    package init(product: String = "", version: String = "") {
        self.product = product
        self.version = version
    }
}

extension InboundMethod {
    /// Reads a method frame.
    init(_ frame: amqp_method_t) {
        func decoded<Method>(_ type: Method.Type) -> Method {
            unsafe frame.decoded.assumingMemoryBound(to: type).pointee
        }
        switch unsafe frame.id {
        case AMQP_CONNECTION_START_METHOD:
            let method = unsafe decoded(amqp_connection_start_t.self)
            let mechanisms = unsafe method.mechanisms.text.split(separator: " ")
            self = unsafe .start(
                ServerProperties(method.server_properties),
                isVersion091: method.version_major == 0 && method.version_minor == 9, mechanisms: mechanisms)
        case AMQP_CONNECTION_TUNE_METHOD:
            let method = decoded(amqp_connection_tune_t.self)
            self = .tune(
                channelMax: method.channel_max, frameMax: method.frame_max, heartbeat: method.heartbeat)
        case AMQP_CONNECTION_OPEN_OK_METHOD: self = .openOk
        case AMQP_CONNECTION_CLOSE_METHOD:
            let method = unsafe decoded(amqp_connection_close_t.self)
            self = unsafe .close(code: method.reply_code, text: method.reply_text.text)
        case AMQP_CONNECTION_CLOSE_OK_METHOD: self = .closeOk
        case SecretUpdate.ok: self = .secretUpdated
        case AMQP_CONNECTION_BLOCKED_METHOD:
            self = unsafe .blocked(reason: decoded(amqp_connection_blocked_t.self).reason.text)
        case AMQP_CONNECTION_UNBLOCKED_METHOD: self = .unblocked
        case AMQP_CHANNEL_OPEN_OK_METHOD: self = .channelOpenOk
        case AMQP_CHANNEL_FLOW_METHOD:
            self = .channelFlow(isActive: decoded(amqp_channel_flow_t.self).active != 0)
        case AMQP_CHANNEL_CLOSE_METHOD:
            let method = unsafe decoded(amqp_channel_close_t.self)
            self = unsafe .channelClose(code: method.reply_code, text: method.reply_text.text)
        case AMQP_CHANNEL_CLOSE_OK_METHOD: self = .channelCloseOk
        case AMQP_CONFIRM_SELECT_OK_METHOD: self = .confirmSelectOk
        case AMQP_BASIC_QOS_OK_METHOD: self = .qosOk
        case AMQP_BASIC_CONSUME_OK_METHOD:
            self = unsafe .consumeOk(consumerTag: decoded(amqp_basic_consume_ok_t.self).consumer_tag.text)
        case AMQP_BASIC_CANCEL_METHOD:
            self = unsafe .cancel(consumerTag: decoded(amqp_basic_cancel_t.self).consumer_tag.text)
        case AMQP_BASIC_CANCEL_OK_METHOD:
            self = unsafe .cancelOk(consumerTag: decoded(amqp_basic_cancel_ok_t.self).consumer_tag.text)
        case AMQP_QUEUE_DECLARE_OK_METHOD:
            let method = unsafe decoded(amqp_queue_declare_ok_t.self)
            self = unsafe .response(
                .declared(
                    queue: method.queue.text, messages: method.message_count, consumers: method.consumer_count))
        case AMQP_QUEUE_DELETE_OK_METHOD:
            self = .response(.deleted(messages: decoded(amqp_queue_delete_ok_t.self).message_count))
        case AMQP_QUEUE_PURGE_OK_METHOD:
            self = .response(.purged(messages: decoded(amqp_queue_purge_ok_t.self).message_count))
        case AMQP_QUEUE_BIND_OK_METHOD, AMQP_EXCHANGE_DECLARE_OK_METHOD, AMQP_EXCHANGE_DELETE_OK_METHOD:
            self = .response(.done)
        case AMQP_BASIC_GET_EMPTY_METHOD: self = .response(.empty)
        default: self = unsafe .other(frame.id)
        }
    }
}

extension ServerProperties {
    fileprivate init(_ table: amqp_table_t) {
        for index in unsafe 0..<Int(table.num_entries) {
            let entry = unsafe table.entries[index]
            guard unsafe entry.value.kind == UInt8(ascii: "S") else { continue }
            switch unsafe entry.key.text {
            case "product": product = unsafe entry.value.value.bytes.text
            case "version": version = unsafe entry.value.value.bytes.text
            default: break
            }
        }
    }
}
