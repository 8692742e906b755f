import CRabbitMQ
import Core
import DequeModule

extension AMQPEngine {
    /// The channel of a publishing or control connection.
    static let channel: UInt16 = 1

    mutating func perform(_ action: AMQPConnectionMachine.Action) {
        switch action {
        case .sendProtocolHeader: output.append(FrameFormat.protocolHeader)
        case .sendStartOk: writeStartOk()
        case .sendTuneOkAndOpen: writeTuneOkAndOpen()
        case .openChannel:
            guard !consumers.isEmpty else { return openChannel(Self.channel) }
            for index in consumers.indices { perform(.openChannel, onConsumer: index) }
        case .selectConfirms:
            write(AMQP_CONFIRM_SELECT_METHOD) { _ in amqp_confirm_select_t(nowait: 0) }
        case .announceOpen:
            timers.deadline = nil
            events.append(.opened(handshake.server))
            sendSecret()
            sendNextRequest()
        case .sendClose:
            awaitResponse(within: configuration.handshakeTimeout)
            writeClose()
        case .sendCloseOk:
            write(AMQP_CONNECTION_CLOSE_OK_METHOD, channel: 0) { _ in amqp_connection_close_ok_t() }
        case .disconnect: finish(nil)
        case .refuse: unexpected("a method out of order")
        case .ignore: break
        }
    }

    mutating func openChannel(_ channel: UInt16) {
        unsafe write(AMQP_CHANNEL_OPEN_METHOD, channel: channel) { _ in unsafe amqp_channel_open_t() }
    }

    /// Handles an infrequent method, and copies what it keeps out of the parser's memory.
    mutating func handle(_ method: amqp_method_t, on channel: UInt16) {
        func decoded<Method>(_ type: Method.Type) -> Method {
            unsafe method.decoded.assumingMemoryBound(to: type).pointee
        }
        switch unsafe method.id {
        case AMQP_CONNECTION_START_METHOD: unsafe started(decoded(amqp_connection_start_t.self))
        case AMQP_CONNECTION_TUNE_METHOD: tune(decoded(amqp_connection_tune_t.self))
        case AMQP_CONNECTION_OPEN_OK_METHOD: perform(machine.take(.openOk))
        case AMQP_CONNECTION_CLOSE_METHOD:
            let close = unsafe decoded(amqp_connection_close_t.self)
            unsafe connectionClosed(code: close.reply_code, text: close.reply_text.text)
        case AMQP_CONNECTION_CLOSE_OK_METHOD: perform(machine.take(.closeOk))
        case SecretUpdate.ok: secretUpdated(on: channel)
        case AMQP_CONNECTION_BLOCKED_METHOD:
            unsafe block(decoded(amqp_connection_blocked_t.self).reason.text)
        case AMQP_CONNECTION_UNBLOCKED_METHOD: block(nil)
        case AMQP_CHANNEL_OPEN_OK_METHOD:
            if consumers.isEmpty || !machine.isOpen { perform(machine.take(.channelOpenOk)) }
            if channel > 0, !consumers.isEmpty { consumerChannelOpened(Int(channel) - 1) }
        case AMQP_CHANNEL_FLOW_METHOD: flow(decoded(amqp_channel_flow_t.self).active != 0, on: channel)
        case AMQP_CHANNEL_CLOSE_METHOD:
            let close = unsafe decoded(amqp_channel_close_t.self)
            unsafe channelClosed(code: close.reply_code, text: close.reply_text.text, on: channel)
        case AMQP_CHANNEL_CLOSE_OK_METHOD:
            if channel > 0, !consumers.isEmpty { consumerChannelCloseOk(Int(channel) - 1) }
        case AMQP_CONFIRM_SELECT_OK_METHOD: perform(machine.take(.confirmSelectOk))
        case AMQP_BASIC_QOS_OK_METHOD: break
        case AMQP_BASIC_CONSUME_OK_METHOD:
            unsafe consumeOkReceived(decoded(amqp_basic_consume_ok_t.self).consumer_tag.text)
        case AMQP_BASIC_CANCEL_METHOD:
            unsafe cancelReceived(decoded(amqp_basic_cancel_t.self).consumer_tag.text)
        case AMQP_BASIC_CANCEL_OK_METHOD:
            unsafe cancelOkReceived(decoded(amqp_basic_cancel_ok_t.self).consumer_tag.text)
        case AMQP_QUEUE_DECLARE_OK_METHOD: unsafe declared(decoded(amqp_queue_declare_ok_t.self))
        case AMQP_QUEUE_BIND_OK_METHOD, AMQP_QUEUE_DELETE_OK_METHOD, AMQP_QUEUE_PURGE_OK_METHOD,
            AMQP_EXCHANGE_DECLARE_OK_METHOD, AMQP_EXCHANGE_DELETE_OK_METHOD:
            responseReceived(.done)
        case AMQP_BASIC_GET_EMPTY_METHOD: responseReceived(.empty)
        case let id: unexpected("the method \(id >> 16).\(id & 0xFFFF)")
        }
    }

    private mutating func started(_ start: amqp_connection_start_t) {
        handshake.server = unsafe ServerProperties(start.server_properties)
        let isVersion091 = unsafe start.version_major == 0 && start.version_minor == 9
        let mechanisms = unsafe start.mechanisms.text.split(separator: " ")
        guard isVersion091, mechanisms.contains(Substring(configuration.address.mechanism.rawValue)) else {
            return finish(missing(isVersion091 ? mechanisms : nil))
        }
        handshake.isEstablished = true
        awaitResponse(within: configuration.handshakeTimeout)
        perform(machine.take(.start))
    }

    private mutating func connectionClosed(code: UInt16, text: String) {
        let tooLongLogin = code == 501 ? tooLongLogin : nil
        perform(machine.closeReceived())
        let error = tooLongLogin ?? AMQPError.closed(replyCode: code, text: text, name: replyName(code))
        finish(handshake.secretsUnderWay > 0 && [403, 530].contains(code) ? .secretRefused(error) : error)
    }

    private mutating func secretUpdated(on channel: UInt16) {
        guard channel == 0, handshake.secretsUnderWay > 0 else {
            return unexpected("a response to an update-secret that was not sent")
        }
        handshake.secretsUnderWay -= 1
    }

    /// - Parameter reason: `nil` if the broker accepts publishes again.
    private mutating func block(_ reason: String?) {
        machine.isBlocked = reason != nil
        events.append(reason.map { .blocked($0) } ?? .unblocked)
    }

    private mutating func declared(_ queue: amqp_queue_declare_ok_t) {
        guard consumers.isEmpty else { return unsafe messagesCounted(queue.message_count) }
        unsafe responseReceived(
            .declared(queue: queue.queue.text, messages: queue.message_count, consumers: queue.consumer_count))
    }

    /// Writes a method. A string that is too long ends the connection before any byte is written.
    mutating func write<Method>(
        _ id: amqp_method_number_t, channel: UInt16 = channel, _ make: (inout MethodWriter) throws(AMQPError) -> Method
    ) {
        do throws(AMQPError) {
            try writer.write(id, channel: channel, to: &output, make)
        } catch {
            finish(error)
        }
    }

    private mutating func writeStartOk() {
        let address = configuration.address
        let properties: FieldTable = [
            "product": .string("Harebell"), "version": .string(configuration.productVersion),
            "platform": .string("Swift"), "connection_name": .string(configuration.connectionName),
            "capabilities": .table([
                "consumer_cancel_notify": .boolean(true), "connection.blocked": .boolean(true),
                "basic.nack": .boolean(true), "publisher_confirms": .boolean(true),
                "authentication_failure_close": .boolean(true), "exchange_exchange_bindings": .boolean(true),
            ]),
        ]
        let mechanism = address.mechanism
        let login = [0] + Array(address.user.utf8) + [0] + Array(address.password.utf8)
        let start = output.count
        defer { handshake.loginSize = output.count - start }
        unsafe write(AMQP_CONNECTION_START_OK_METHOD, channel: 0) { writer throws(AMQPError) in
            unsafe amqp_connection_start_ok_t(
                client_properties: try writer.table(properties),
                mechanism: try writer.short(mechanism.rawValue, "mechanism"),
                response: writer.long(mechanism == .plain ? login : []), locale: try writer.short("en_US", "locale"))
        }
    }

    /// Zero from the broker means no limit, or no preference.
    private mutating func tune(_ tune: amqp_connection_tune_t) {
        let (channelMax, offered, offeredHeartbeat) = (tune.channel_max, tune.frame_max, tune.heartbeat)
        guard channelMax == 0 || Int(channelMax) >= consumers.count else {
            return finish(
                AMQPError(
                    .notAllowed,
                    "the broker allows \(channelMax) channels on a connection (channel_max), and each of "
                        + "\(consumers.count) queues needs one: raise channel_max or lower the number of queues",
                    isTransient: false))
        }
        guard offered == 0 || offered >= AMQPConfiguration.frameMin else {
            return unexpected("a frame size of \(offered)")
        }
        let wantedChannels = UInt16(configuration.countsMessages ? channels.count : consumers.count)
        handshake.channelMax = channelMax == 0 ? wantedChannels : min(wantedChannels, channelMax)
        // No channel is left for message counts.
        if Int(handshake.channelMax) == consumers.count {
            for index in consumers.indices { consumers[index].isUncountable = true }
        }
        let wanted = UInt16(clamping: configuration.heartbeat.components.seconds)
        handshake.frameMax = offered == 0 ? AMQPConfiguration.frameMax : min(AMQPConfiguration.frameMax, offered)
        handshake.heartbeat = wanted == 0 || offeredHeartbeat == 0 ? wanted : min(wanted, offeredHeartbeat)
        perform(machine.take(.tune))
    }

    private mutating func writeTuneOkAndOpen() {
        reader.maximumSize = Int(handshake.frameMax)
        if handshake.heartbeat > 0 { timers.startHeartbeats(.seconds(handshake.heartbeat), at: now) }
        let handshake = handshake
        write(AMQP_CONNECTION_TUNE_OK_METHOD, channel: 0) { _ in
            amqp_connection_tune_ok_t(
                channel_max: handshake.channelMax, frame_max: handshake.frameMax, heartbeat: handshake.heartbeat)
        }
        let virtualHost = configuration.address.virtualHost
        unsafe write(AMQP_CONNECTION_OPEN_METHOD, channel: 0) { writer throws(AMQPError) in
            unsafe amqp_connection_open_t(
                virtual_host: try writer.short(virtualHost, "virtual host"), capabilities: amqp_bytes_t(), insist: 0)
        }
    }

    private mutating func writeClose() {
        unsafe write(AMQP_CONNECTION_CLOSE_METHOD, channel: 0) { _ in
            unsafe amqp_connection_close_t(reply_code: 200, reply_text: amqp_bytes_t(), class_id: 0, method_id: 0)
        }
    }

    /// A channel close ends a publishing connection. For a consumer it concerns only its queue; on a control
    /// connection it answers a request.
    private mutating func channelClosed(code: UInt16, text: String, on channel: UInt16) {
        let error = AMQPError.closed(replyCode: code, text: text, name: replyName(code))
        guard channel > 0 else { return unexpected("a channel.close on channel 0") }
        write(AMQP_CHANNEL_CLOSE_OK_METHOD, channel: channel) { _ in amqp_channel_close_ok_t() }
        if !consumers.isEmpty, machine.isOpen { return consumerChannelClosed(Int(channel) - 1, error) }
        if configuration.role == .control, isAwaitingResponse, machine.isOpen {
            isAwaitingResponse = false
            events.append(.responded(.refused(error)))
            if channels[0].deliveries.held == 0 {
                channels[0].close()
                awaitResponse(within: configuration.handshakeTimeout)
                return perform(machine.take(.channelLost))
            }
        }
        guard machine.state != .closing else { return }
        writeClose()
        finish(error)
    }

    /// RabbitMQ does not send `channel.flow`, other brokers may. We treat it like a blocked connection.
    private mutating func flow(_ isActive: Bool, on channel: UInt16) {
        write(AMQP_CHANNEL_FLOW_OK_METHOD, channel: max(channel, 1)) { _ in
            amqp_channel_flow_ok_t(active: isActive ? 1 : 0)
        }
        block(isActive ? nil : "channel.flow")
    }

    /// The name of a reply code: the library's name without its prefix.
    private func replyName(_ code: UInt16) -> String {
        let name = unsafe String(cString: amqp_constant_name(Int32(code)))
        return name.hasPrefix("AMQP_") ? String(name.dropFirst(5)) : name
    }

    // MARK: - Errors

    func mismatch(underlying: AMQPError) -> AMQPError {
        AMQPError(
            .protocolMismatch,
            "the peer does not speak AMQP 0-9-1: check the host and port, and whether the port expects amqps",
            isTransient: false, underlying: underlying)
    }

    /// - Parameter mechanisms: the broker's offer; `nil` if it speaks another version of AMQP.
    private func missing(_ mechanisms: [Substring]?) -> AMQPError {
        let wanted = configuration.address.mechanism
        let advice = wanted == .external ? " (RabbitMQ's plug-in rabbitmq_auth_mechanism_ssl adds it)" : ""
        let message =
            mechanisms.map {
                "the broker does not offer \(wanted.rawValue)\(advice), but \($0.joined(separator: ", "))"
            }
            ?? "the broker does not offer AMQP 0-9"
        return AMQPError(.protocolMismatch, message, isTransient: false)
    }

    func handshakeTimeout() -> AMQPError {
        let text =
            isEstablished
            ? "the handshake took longer than \(configuration.handshakeTimeout) (\(machine.state))"
            : "\(configuration.address.endpoint) did not begin the handshake within \(configuration.connectTimeout)"
        return AMQPError(.handshakeTimeout, text)
    }

    /// The likely cause if the broker ends the connection now: until the sizes are negotiated, it accepts frames of
    /// ``AMQPConfiguration/frameMin``, and RabbitMQ from 4.1 on of 8192 bytes. Source: rabbitmq.com/docs/configure
    /// (initial_frame_max).
    private var tooLongLogin: AMQPError? {
        guard machine.state == .awaitingTune, handshake.loginSize > AMQPConfiguration.frameMin else { return nil }
        return AMQPError(
            .accessRefused,
            "the broker closed the connection at the login, which has \(handshake.loginSize) bytes: use a shorter "
                + "password or token, or raise the broker's initial_frame_max (4096 before RabbitMQ 4.1)")
    }

    /// Derives the error from the phase in which the transport was lost. A broker gives a reason when it refuses a
    /// login or a virtual host. If it only hangs up there, it is most likely shutting down. Source:
    /// rabbitmq.com/docs/auth-notification.
    func lossOfTransport(_ failure: TransportError?) -> AMQPError {
        switch machine.state {
        case .connecting where timers.deadline != nil:
            return AMQPError(
                .tls, "the broker closed the connection during the TLS handshake: check that this port expects amqps",
                underlying: failure)
        case .connecting:
            return AMQPError(
                .transport, "the connection to \(configuration.address.endpoint) failed", underlying: failure)
        case .awaitingTune:
            return tooLongLogin
                ?? AMQPError(
                    .accessRefused,
                    "the broker closed the connection at the login: it is stopping, or it refuses the user",
                    underlying: failure)
        case .awaitingOpen:
            return AMQPError(
                .notAllowed,
                "the broker closed the connection when the virtual host was opened: "
                    + "it is stopping, or it refuses the user",
                underlying: failure)
        default:
            let text = failure == nil ? "the broker closed the connection" : "the connection with the broker was lost"
            return AMQPError(.transport, text, underlying: failure)
        }
    }
}
