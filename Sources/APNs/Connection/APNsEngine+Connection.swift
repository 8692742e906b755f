import Core
import DequeModule
import HTTP2
import TLS

/// Connects TLS, HTTP/2 and the state machine.
extension APNsEngine {
    /// - Returns: Whether the peer has closed its side.
    mutating func readAll() throws(APNsError) -> Bool {
        do throws(TLSError) {
            if !tls.isEstablished {
                guard try tls.handshake() else { return false }
                machine.protocolNegotiated()
            }
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

    private mutating func readPart() throws(APNsError) -> TLSSession.ReadResult {
        let result: TLSSession.ReadResult
        do throws(TLSError) {
            result = try tls.read(into: &plaintext)
        } catch {
            throw APNsError(tls: error)
        }
        guard case .bytes = result else { return result }
        defer { plaintext.removeAll() }
        do throws(HTTP2Error) {
            try plaintext.withBytes { (bytes) throws(HTTP2Error) in try http2.receive(bytes) }
        } catch {
            throw APNsError(http2: error)
        }
        return result
    }

    /// Encrypts the next part of HTTP/2's output.
    ///
    /// - Returns: whether there may be more.
    mutating func writePart() throws(APNsError) -> Bool {
        var failure: HTTP2Error?
        do throws(HTTP2Error) {
            try http2.drain(into: &plaintext, upTo: Self.plaintextPart)
        } catch {
            failure = error
        }
        let hasMore = plaintext.count >= Self.plaintextPart
        // After an HTTP/2 failure, this is the GOAWAY with its reason.
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

    mutating func takeHTTP2Events() {
        while let event = http2.nextEvent() {
            switch consume event {
            case .settings: perform(machine.settingsReceived())
            case .response(let handle, let http):
                _ = takeBodyRequirement(handle)
                responded(handle, http)
            case .reset(let handle, let code, let begun): reset(handle, code, begun)
            case .goaway(_, let code, let debugData):
                let reason = ResponseBody(debugData).reason ?? goaway?.reason
                goaway = Goaway(reason: reason, code: code)
                events.append(.goaway(reason: reason?.rawValue ?? code.description))
                perform(machine.retire(drainDeadline: now + configuration.drainTimeout))
            }
        }
        while let next = timeouts.first, !http2.isOpen(next.stream) { timeouts.removeFirst() }
        endIfDrained()
    }

    private mutating func responded(_ handle: Handle, _ http: HTTP2Response) {
        if http.bodyTruncated { counters[.responseBodyLimitHits] += 1 }
        let isPlain = http.headers.isEmpty && http.body.isEmpty
        let response = isPlain ? APNsResponse(status: http.status) : APNsResponse(http)
        // Until APNs has accepted a provider token, a connection has one stream. Source: "Sending notification
        // requests to APNs", "Establish a connection to APNs".
        if !isAuthenticated, response.rule.tokenRefusal == nil { isAuthenticated = true }
        events.append(.responded(handle: handle, response))
    }

    private mutating func takeBodyRequirement(_ handle: Handle) -> Bool {
        !resultsInBody.isEmpty && resultsInBody.remove(handle) != nil
    }

    /// - Parameter begun: the received part of the response.
    private mutating func reset(_ handle: Handle, _ code: HTTP2ErrorCode, _ begun: HTTP2Response?) {
        let needsBody = takeBodyRequirement(handle)
        // A success has no body, so its headers are the complete response. A retry would certainly be a duplicate.
        if let begun, ResponseRule.isSuccess(begun.status), !needsBody { return responded(handle, begun) }
        let status = begun?.status
        var detail: String
        // APNs has processed a request if its response has begun, whatever the peer reports afterwards.
        let isUntouched = code == .refusedStream && status == nil
        if isUntouched {
            let cause = lossDetail
            detail = cause.isEmpty ? "APNs did not process the request" : "\(cause), before it was sent"
        } else if !lossDetail.isEmpty {
            detail = lossDetail
        } else {
            detail = "APNs reset the stream without a response (\(code))"
        }
        if !isUntouched {
            detail += status.map { ", after status \($0) without a body" } ?? ", after it was sent"
        }
        if let goaway { detail += "; GOAWAY said \(goaway.description)" }
        let loss = Loss(
            processed: isUntouched ? .no : .unknown, detail: detail, goawayReason: goaway?.reason,
            isRefused: isUntouched && lossDetail.isEmpty)
        events.append(.lost(handle: handle, loss))
    }

    mutating func endIfDrained() {
        if inFlight == 0 { perform(machine.streamsEnded()) }
    }

    // MARK: Deadlines

    mutating func cancelOverdue() {
        while let oldest = timeouts.first, oldest.deadline <= now {
            // A request that was never written counts as refused.
            let isWritten = http2.isWritten(oldest.stream)
            lossDetail = "no response in time"
            counters[.requestTimeouts] += 1
            http2.cancel(stream: oldest.stream, code: isWritten ? .cancel : .refusedStream)
            takeHTTP2Events()
            lossDetail = ""
        }
    }

    mutating func ping() {
        do throws(HTTP2Error) {
            try http2.raw.ping()
        } catch {
            fail(APNsError(http2: error))
        }
    }

    // MARK: Closing

    mutating func perform(_ action: APNsConnectionMachine.Action) {
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
        case .loseStreams: close(nil)
        case .closeGracefully: close(goawayError)
        case .giveUpHandshake:
            close(
                APNsError(
                    .handshakeTimeout, "\(configuration.endpoint) did not finish the TLS and HTTP/2 handshake in time"))
        case .giveUpDraining:
            close(
                APNsError(
                    .drainDeadline,
                    "\(configuration.endpoint) did not respond to all requests before the drain deadline"))
        }
    }

    mutating func fail(_ error: APNsError) {
        if machine.failed() == .loseStreams { close(error) }
    }

    /// The machine is closed: loses open requests, sends GOAWAY and close_notify, and notifies the owner.
    mutating func close(_ error: APNsError?) {
        let cause = error.map { $0.underlying.map { "\($0)" } ?? $0.message }
        lossDetail = cause.map { "the connection was lost: \($0)" } ?? ""
        http2.abandon(code: .cancel)
        takeHTTP2Events()
        sendClosingFrames()
        events.append(.closed(error))
        wantsDisconnect = true
    }

    /// Sends GOAWAY and close_notify if the connection still accepts them.
    private mutating func sendClosingFrames() {
        guard tls.isEstablished else { return }
        do throws(APNsError) {
            do throws(HTTP2Error) {
                try http2.terminate()
            } catch {
                throw APNsError(http2: error)
            }
            while try writePart() {}
        } catch {
            // The connection has already ended; its unsent output does not change the reason.
            plaintext.removeAll()
        }
        tls.close()
    }

    private var goawayError: APNsError? {
        guard let goaway else { return nil }
        return APNsError(.goaway, "\(configuration.endpoint) closed the connection by GOAWAY, reason \(goaway.text)")
    }

    func closedByPeer() -> APNsError {
        goawayError ?? APNsError(.connectionClosed, "\(configuration.endpoint) closed the connection without GOAWAY")
    }
}

extension APNsResponse {
    fileprivate init(_ http: HTTP2Response) {
        // A refusal's body contains the reason. A success has a body only when channels are read.
        let isSuccess = ResponseRule.isSuccess(http.status)
        let refusal = ResponseBody(isSuccess ? [] : http.body)
        let channel = ChannelResponse(
            channelID: http.headers.value(of: "apns-channel-id"),
            requestID: http.headers.value(of: "apns-request-id"), body: isSuccess ? http.body : [])
        self.init(
            status: http.status, reason: refusal.reason, timestamp: refusal.timestamp,
            uniqueID: http.headers.value(of: "apns-unique-id"),
            channel: channel == ChannelResponse() ? nil : channel)
    }
}

extension APNsError {
    init(http2 error: HTTP2Error) {
        self.init(.http2, "HTTP/2 failed", underlying: error, isTransient: error.isTransient)
    }

    init(tls error: TLSError) {
        let code: Code =
            switch error.code {
            case .noProtocol: .noHTTP2
            case .clientCertificateRefused: .certificateRefused
            default: .tls
            }
        self.init(code, "TLS failed", underlying: error, isTransient: error.isTransient)
    }
}
