import CRabbitMQ
import Core

extension AMQPEngine {
    /// The channel of a publishing or control connection.
    static let channel: UInt16 = 1

    /// Performs an action of the connection's state machine.
    mutating func perform(_ action: AMQPConnectionMachine.Action) {
        switch action {
        case .sendProtocolHeader: output.append(FrameFormat.protocolHeader)
        case .sendStartOk: writeStartOk()
        case .sendTuneOkAndOpen: writeTuneOkAndOpen()
        case .openChannel: for index in 0..<max(1, consumers.count) { openChannel(UInt16(index + 1)) }
        case .selectConfirms:
            write(AMQP_CONFIRM_SELECT_METHOD) { _ in amqp_confirm_select_t(nowait: 0) }
        case .announceOpen:
            didOpen()
            sendNextRequest()
        case .sendClose:
            awaitResponse()
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

    mutating func handle(_ method: InboundMethod, on channel: UInt16) {
        switch method {
        case .start(let server, let isVersion091, let mechanisms):
            handshake.server = server
            guard isVersion091, mechanisms.contains(Substring(configuration.address.mechanism.rawValue)) else {
                return fail(missing(isVersion091 ? mechanisms : nil))
            }
            handshake.isEstablished = true
            perform(machine.startReceived())
        case .tune(let channelMax, let frameMax, let heartbeat):
            tune(channelMax: channelMax, frameMax: frameMax, heartbeat: heartbeat)
        case .openOk: perform(machine.openOkReceived())
        case .close(let code, let text):
            let tooLongLogin = code == 501 ? tooLongLogin : nil
            perform(machine.closeReceived())
            let error = tooLongLogin ?? AMQPError.closed(replyCode: code, text: text, name: replyName(code))
            fail(handshake.secretsUnderWay > 0 && [403, 530].contains(code) ? .secretRefused(error) : error)
        case .closeOk: perform(machine.closeOkReceived())
        case .blocked(let reason):
            machine.blockedReceived()
            events.append(.blocked(reason))
        case .unblocked:
            machine.unblockedReceived()
            events.append(.unblocked)
        case .secretUpdated:
            guard channel == 0, handshake.secretsUnderWay > 0 else {
                return unexpected("a response to an update-secret that was not sent")
            }
            handshake.secretsUnderWay -= 1
            events.append(.secretUpdated)
        case .channelOpenOk:
            if consumers.isEmpty || !machine.isOpen { perform(machine.channelOpenOkReceived()) }
            if channel > 0, !consumers.isEmpty { consumerChannelOpened(Int(channel) - 1) }
        case .channelFlow(let isActive): flow(isActive, on: channel)
        case .channelClose(let code, let text):
            channelClosed(.closed(replyCode: code, text: text, name: replyName(code)), on: channel)
        case .channelCloseOk where channel > 0 && !consumers.isEmpty: consumerChannelCloseOk(Int(channel) - 1)
        case .channelCloseOk, .qosOk: break
        case .confirmSelectOk: perform(machine.confirmSelectOkReceived())
        case .consumeOk(let tag): consumeOkReceived(tag)
        case .cancel(let tag): cancelReceived(tag)
        case .cancelOk(let tag): cancelOkReceived(tag)
        case .response(.declared(_, let messages, _)) where !consumers.isEmpty: messagesCounted(messages)
        case .response(let response): responseReceived(response)
        case .other(let id): unexpected("the method \(id >> 16).\(id & 0xFFFF)")
        }
    }

    /// Writes a method whose strings are known to fit.
    mutating func write<Method>(
        _ id: amqp_method_number_t, channel: UInt16 = channel, _ make: (inout MethodWriter) -> Method
    ) {
        do throws(AMQPError) {
            try layers.writer.write(id, channel: channel, to: &output) { writer throws(AMQPError) in
                make(&writer)
            }
        } catch {
            preconditionFailure("a method without strings can be written")
        }
    }

    /// Writes a method. A string that is too long ends the connection before any byte is written.
    mutating func writeOrFail<Method>(
        _ id: amqp_method_number_t, channel: UInt16 = channel, _ make: (inout MethodWriter) throws(AMQPError) -> Method
    ) {
        do throws(AMQPError) {
            try layers.writer.write(id, channel: channel, to: &output, make)
        } catch {
            fail(error)
        }
    }

    mutating func writeHeartbeat() {
        output.append([FrameFormat.Kind.heartbeat.rawValue, 0, 0, 0, 0, 0, 0, FrameFormat.end])
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
        unsafe writeOrFail(AMQP_CONNECTION_START_OK_METHOD, channel: 0) { writer throws(AMQPError) in
            unsafe amqp_connection_start_ok_t(
                client_properties: try writer.table(properties),
                mechanism: try writer.short(mechanism.rawValue, "mechanism"),
                response: writer.long(mechanism == .plain ? login : []), locale: try writer.short("en_US", "locale"))
        }
    }

    /// Zero from the broker means no limit, or no preference.
    private mutating func tune(channelMax: UInt16, frameMax offered: UInt32, heartbeat offeredHeartbeat: UInt16) {
        guard channelMax == 0 || Int(channelMax) >= consumers.count else {
            return fail(
                AMQPError(
                    .notAllowed,
                    "the broker allows \(channelMax) channels on a connection (channel_max), and each of "
                        + "\(consumers.count) queues needs one: raise channel_max or lower the number of queues",
                    blame: .remote, isTransient: false))
        }
        guard offered == 0 || offered >= AMQPConfiguration.frameMin else {
            return unexpected("a frame size of \(offered)")
        }
        // No channel is left for message counts.
        if Int(channelMax) == consumers.count {
            for index in consumers.indices { consumers[index].isUncountable = true }
        }
        let wanted = UInt16(clamping: configuration.heartbeat.components.seconds)
        handshake.frameMax = offered == 0 ? AMQPConfiguration.frameMax : min(AMQPConfiguration.frameMax, offered)
        handshake.heartbeat = wanted == 0 || offeredHeartbeat == 0 ? wanted : min(wanted, offeredHeartbeat)
        perform(machine.tuneReceived())
    }

    private mutating func writeTuneOkAndOpen() {
        didTune()
        let (handshake, channels) = (handshake, channels.count)
        write(AMQP_CONNECTION_TUNE_OK_METHOD, channel: 0) { _ in
            amqp_connection_tune_ok_t(
                channel_max: UInt16(channels), frame_max: handshake.frameMax, heartbeat: handshake.heartbeat)
        }
        let virtualHost = configuration.address.virtualHost
        unsafe writeOrFail(AMQP_CONNECTION_OPEN_METHOD, channel: 0) { writer throws(AMQPError) in
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
    private mutating func channelClosed(_ error: AMQPError, on channel: UInt16) {
        guard channel > 0 else { return unexpected("a channel.close on channel 0") }
        write(AMQP_CHANNEL_CLOSE_OK_METHOD, channel: channel) { _ in amqp_channel_close_ok_t() }
        if !consumers.isEmpty, machine.isOpen { return consumerChannelClosed(Int(channel) - 1, error) }
        if configuration.role == .control, requests.isAwaitingResponse, machine.isOpen {
            requests.isAwaitingResponse = false
            events.append(.responded(.refused(error)))
            if channels[0].deliveries.held == 0 {
                channels[0].close()
                awaitResponse()
                return perform(machine.channelLost())
            }
        }
        guard machine.state != .closing else { return }
        writeClose()
        fail(error)
    }

    /// RabbitMQ does not send `channel.flow`, other brokers may. We treat it like a blocked connection.
    private mutating func flow(_ isActive: Bool, on channel: UInt16) {
        write(AMQP_CHANNEL_FLOW_OK_METHOD, channel: max(channel, 1)) { _ in
            amqp_channel_flow_ok_t(active: isActive ? 1 : 0)
        }
        handle(isActive ? .unblocked : .blocked(reason: "channel.flow"), on: 0)
    }

    /// The name of a reply code: the library's name without its prefix.
    private func replyName(_ code: UInt16) -> String {
        let name = unsafe String(cString: amqp_constant_name(Int32(code)))
        return name.hasPrefix("AMQP_") ? String(name.dropFirst(5)) : name
    }

    // MARK: - Errors

    func mismatch(underlying: AMQPError?) -> AMQPError {
        AMQPError(
            .protocolMismatch,
            "the peer does not speak AMQP 0-9-1: check the host and port, and whether the port expects amqps",
            blame: .remote, isTransient: false, underlying: underlying)
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
        return AMQPError(.protocolMismatch, message, blame: .remote, isTransient: false)
    }

    func handshakeTimeout() -> AMQPError {
        AMQPError(
            .handshakeTimeout,
            "the handshake took longer than \(configuration.handshakeTimeout) (\(machine.state))", blame: .remote,
            isTransient: true)
    }

    /// The likely cause if the broker ends the connection now: until the sizes are negotiated, it accepts frames of
    /// ``AMQPConfiguration/frameMin``, and RabbitMQ from 4.1 on of 8192 bytes. Source: rabbitmq.com/docs/configure
    /// (initial_frame_max).
    private var tooLongLogin: AMQPError? {
        guard machine.state == .awaitingTune, handshake.loginSize > AMQPConfiguration.frameMin else { return nil }
        return AMQPError(
            .accessRefused,
            "the broker closed the connection at the login, which has \(handshake.loginSize) bytes: use a shorter "
                + "password or token, or raise the broker's initial_frame_max (4096 before RabbitMQ 4.1)",
            blame: .remote, isTransient: true)
    }

    /// Derives the error from the phase in which the transport was lost. A broker gives a reason when it refuses a
    /// login or a virtual host. If it only hangs up there, it is most likely shutting down. Source:
    /// rabbitmq.com/docs/auth-notification.
    func lossOfTransport(_ failure: TransportError?, wasOpened: Bool) -> AMQPError {
        switch machine.state {
        case .connecting where wasOpened:
            return AMQPError(
                .tls, "the broker closed the connection during the TLS handshake: check that this port expects amqps",
                blame: .remote, isTransient: true, underlying: failure)
        case .connecting:
            return AMQPError(
                .transport, "cannot connect to \(configuration.address.endpoint)", blame: .remote, isTransient: true,
                underlying: failure)
        case .awaitingTune:
            return tooLongLogin
                ?? AMQPError(
                    .accessRefused,
                    "the broker closed the connection at the login: it is stopping, or it refuses the user",
                    blame: .remote, isTransient: true, underlying: failure)
        case .awaitingOpen:
            return AMQPError(
                .notAllowed,
                "the broker closed the connection when the virtual host was opened: "
                    + "it is stopping, or it refuses the user",
                blame: .remote, isTransient: true, underlying: failure)
        default:
            let text = failure == nil ? "the broker closed the connection" : "the connection with the broker was lost"
            return AMQPError(.transport, text, blame: .remote, isTransient: true, underlying: failure)
        }
    }
}
