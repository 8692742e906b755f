import Core
import HTTP2
import TLS

/// What happens between TLS, HTTP/2 and the machine.
extension APNsEngine {
    /// Reads whatever has arrived.
    ///
    /// - Returns: Whether the peer has said that nothing will follow.
    func readAll() throws(APNsError) -> Bool {
        do throws(TLSError) {
            guard try handshake() else { return false }
        } catch {
            throw APNsError(tls: error)
        }
        while machine.speaksHTTP2 {
            switch try readPart() {
            case .bytes: continue
            case .wantsInput: return false
            case .closed: return true
            }
        }
        return false
    }

    private func handshake() throws(TLSError) -> Bool {
        if tls.isEstablished { return true }
        guard try tls.handshake() else { return false }
        perform(machine.protocolNegotiated(isHTTP2: tls.negotiatedProtocol == "h2"))
        return true
    }

    private func readPart() throws(APNsError) -> TLSSession.ReadResult {
        let result: TLSSession.ReadResult
        do throws(TLSError) {
            result = try tls.read(into: &plaintext)
        } catch {
            throw APNsError(tls: error)
        }
        defer { plaintext.removeAll() }
        do throws(HTTP2Error) {
            try plaintext.withBytes { (bytes) throws(HTTP2Error) in try http2.receive(bytes) }
        } catch {
            throw APNsError(http2: error)
        }
        return result
    }

    /// Encrypts the next part of what HTTP/2 has to say.
    ///
    /// - Returns: whether there may be more.
    func writePart() throws(APNsError) -> Bool {
        var failure: HTTP2Error?
        do throws(HTTP2Error) {
            try http2.drain(into: &plaintext, upTo: Self.plaintextPart)
        } catch {
            failure = error
        }
        let hasMore = plaintext.count >= Self.plaintextPart
        // Where HTTP/2 failed, this is the GOAWAY that tells the peer why.
        if !plaintext.isEmpty {
            do throws(TLSError) {
                try tls.write(from: &plaintext)
            } catch {
                throw APNsError(tls: error)
            }
        }
        if let failure { throw APNsError(http2: failure) }
        return hasMore
    }

    func takeHTTP2Events() {
        while let event = http2.nextEvent() {
            switch event {
            case .settings: perform(machine.settingsReceived())
            case .response(let handle, let response):
                _ = tookNeedOfBody(handle)
                replied(handle, response)
            case .reset(let handle, let code, let begun): reset(handle, code, begun)
            case .goaway(_, let code, let debugData):
                let reason = ReplyBody(debugData).reason ?? ending.goaway?.reason
                ending.goaway = Goaway(reason: reason, code: code)
                events.append(.goaway(reason: reason?.rawValue ?? code.description))
                perform(machine.goawayReceived(drainDeadline: now + configuration.drainTimeout))
            case .pong: break
            }
        }
        while let next = open.timeouts.first, !http2.isOpen(next.stream) { open.timeouts.removeFirst() }
        endIfDrained()
    }

    private func replied(_ handle: Handle, _ response: HTTP2Response) {
        var reply = APNsReply(status: response.status)
        if response.bodyTruncated { encounters.replyBodyLimitHits += 1 }
        if !response.headers.isEmpty { reply.take(response.headers) }
        if !response.body.isEmpty { reply.take(response.body) }
        // Until APNs has taken a provider token, a connection has one stream. Source: "Sending notification requests to
        // APNs", "Establish a connection to APNs".
        if !isAuthenticated, reply.rule.tokenRefusal == nil { isAuthenticated = true }
        events.append(.replied(handle: handle, reply))
    }

    /// Whether the request, which has ended, needed the body of its answer.
    private func tookNeedOfBody(_ handle: Handle) -> Bool {
        !open.answeredInBody.isEmpty && open.answeredInBody.remove(handle) != nil
    }

    /// - Parameter begun: what had arrived of the response.
    private func reset(_ handle: Handle, _ code: HTTP2ErrorCode, _ begun: HTTP2Response?) {
        let needsBody = tookNeedOfBody(handle)
        // A success has no body, so that its headers are the whole answer: another try would be a certain duplicate.
        if let begun, ReplyRule.isSuccess(begun.status), !needsBody { return replied(handle, begun) }
        let status = begun?.status
        var detail: String
        // Whose answer had begun was worked on, whatever the peer says afterwards.
        let isUntouched = code == .refusedStream && status == nil
        if isUntouched {
            let cause = ending.lossDetail
            detail = cause.isEmpty ? "APNs did not take the request" : "\(cause), before it was sent"
        } else if !ending.lossDetail.isEmpty {
            detail = ending.lossDetail
        } else {
            detail = "APNs ended the stream without an answer (\(code))"
        }
        if !isUntouched {
            detail += status.map { ", after status \($0) had come without its body" } ?? ", after it was sent"
        }
        let goaway = ending.goaway
        if let goaway { detail += "; GOAWAY said \(goaway.description)" }
        let loss = Loss(
            processed: isUntouched ? .no : .unknown, detail: detail, goawayReason: goaway?.reason)
        events.append(.lost(handle: handle, loss))
    }

    func endIfDrained() {
        if inFlight == 0 { perform(machine.streamsEnded()) }
    }

    // MARK: Deadlines

    func cancelOverdue() {
        while let oldest = open.timeouts.first, oldest.deadline <= now {
            do throws(HTTP2Error) {
                // A request that was never written is as good as refused.
                let isWritten = http2.isWritten(oldest.stream)
                ending.lossDetail = "no reply in time"
                encounters.requestTimeouts += 1
                defer { ending.lossDetail = "" }
                try http2.cancel(stream: oldest.stream, code: isWritten ? .cancel : .refusedStream)
                takeHTTP2Events()
            } catch {
                return fail(APNsError(http2: error))
            }
        }
    }

    func ping() {
        do throws(HTTP2Error) {
            try http2.ping(0)
        } catch {
            fail(APNsError(http2: error))
        }
    }

    // MARK: The end

    func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .none: break
        case .startHandshake:
            do throws(TLSError) {
                try tls.handshake()
            } catch {
                fail(APNsError(tls: error))
            }
        case .announceReady:
            isEstablished = true
            events.append(.ready)
        case .refuseProtocol: fail(APNsError(.noHTTP2, APNsError.noHTTP2Message(configuration.endpoint)))
        case .loseStreams: close(nil)
        case .sayGoodbye: close(ending.goaway == nil ? nil : leftByPeer())
        case .giveUpHandshake:
            close(
                APNsError(
                    .handshakeTimeout, "\(configuration.endpoint) did not finish the TLS and HTTP/2 handshake in time"))
        case .giveUpDraining:
            close(
                APNsError(
                    .drainDeadline, "\(configuration.endpoint) did not answer every request before the drain deadline"))
        }
    }

    func fail(_ error: APNsError) {
        if machine.failed() == .loseStreams { close(error) }
    }

    /// The machine is closed: loses what is open, says the last words, and tells the owner.
    func close(_ error: APNsError?) {
        ending.lossDetail = error.map { "the connection was lost: \($0.cause)" } ?? ""
        http2.abandon(code: .cancel)
        takeHTTP2Events()
        sayLastWords()
        events.append(.closed(error))
        ending.wantsDisconnect = true
    }

    /// GOAWAY and close_notify, as far as the connection still carries them.
    private func sayLastWords() {
        guard tls.isEstablished else { return }
        do throws(APNsError) {
            do throws(HTTP2Error) {
                try http2.terminate()
            } catch {
                throw APNsError(http2: error)
            }
            while try writePart() {}
        } catch {
            // The connection has ended already; what it still wanted to say does not change how.
            plaintext.removeAll()
        }
        tls.close()
    }

    private func leftByPeer() -> APNsError {
        let goaway = ending.goaway
        return APNsError(
            .goaway, "\(configuration.endpoint) closed the connection by GOAWAY, reason \(goaway?.text ?? "unknown")",
            goawayReason: goaway?.reason)
    }

    func closedByPeer() -> APNsError {
        if ending.goaway != nil { return leftByPeer() }
        return APNsError(.connectionClosed, "\(configuration.endpoint) closed the connection without GOAWAY")
    }
}

extension APNsReply {
    fileprivate mutating func take(_ headers: [HTTP2Header]) {
        uniqueID = headers.value(of: "apns-unique-id")
        let channelID = headers.value(of: "apns-channel-id")
        let requestID = headers.value(of: "apns-request-id")
        guard channelID != nil || requestID != nil else { return }
        channel = ChannelReply(channelID: channelID, requestID: requestID)
    }

    /// A refusal's body says why; a success has one only where channels are read.
    fileprivate mutating func take(_ body: [UInt8]) {
        if isSuccess {
            channel = ChannelReply(channelID: channel?.channelID, requestID: channel?.requestID, body: body)
        } else {
            let body = ReplyBody(body)
            reason = body.reason
            timestamp = body.timestamp
        }
    }
}

extension APNsError {
    static func noHTTP2Message(_ endpoint: Endpoint) -> String {
        "\(endpoint) does not speak HTTP/2 (ALPN): it is not APNs, or a proxy is in the way"
    }

    init(http2 error: HTTP2Error) {
        self.init(.http2, "HTTP/2 failed", underlying: error, blame: error.blame, isTransient: error.isTransient)
    }

    init(tls error: TLSError) {
        let code: Code =
            switch error.code {
            case .noProtocol: .noHTTP2
            case .clientCertificateRefused: .certificateRefused
            default: .tls
            }
        self.init(code, "TLS failed", underlying: error, blame: error.blame, isTransient: error.isTransient)
    }
}
