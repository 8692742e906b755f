package import Core
import DequeModule
import HTTP2
package import TLS

/// The client side of one connection to APNs: TLS, HTTP/2 and requests, without socket, clock or thread.
///
/// Every request accepted by ``submit(_:handle:authorization:at:)`` ends in exactly one event:
/// ``Event/responded(handle:_:)`` or ``Event/lost(handle:_:)``. That event precedes ``Event/closed(_:)``, which is the
/// last one.
///
/// A value in its ``APNsLink``, so that a call checks exclusive access once.
package struct APNsEngine: ~Copyable {
    package struct Configuration: Sendable {
        package var endpoint: Endpoint
        /// Without a provider token, the client certificate authenticates the provider.
        package var usesProviderToken: Bool
        /// For a response, counted from the submission of the request.
        package var requestTimeout = Duration.seconds(30)
        /// For TLS and the peer's first SETTINGS, counted from the open transport.
        package var handshakeTimeout = Duration.seconds(10)
        /// For the streams that are open when draining begins.
        package var drainTimeout = Duration.seconds(15)
        /// How long the peer may be silent while requests are in flight, before a PING.
        package var stallLimit = Duration.seconds(10)
        /// How long the peer may be silent without requests in flight, before a PING.
        package var pingIdle = Duration.seconds(3600)
        /// How long a PING may be unanswered.
        package var pongTimeout = Duration.seconds(5)
        /// The number of bytes kept of a response body; Apple's refusals have fewer than 100.
        package var maximumResponseBody = 4096
        /// The same limit for channel lists: an app's maximum number of channels, with the longest known IDs.
        package static let maximumChannelList =
            ChannelOperation.maximumChannels * (ChannelOperation.maximumChannelID + 8)
        /// The maximum number of concurrent streams, even if the peer allows more.
        package var maximumStreams = 1000
        /// The first stream ID, an odd number. Tests use it to exhaust stream IDs.
        package var firstStreamID: Int32 = 1

        package init(endpoint: Endpoint, usesProviderToken: Bool) {
            self.endpoint = endpoint
            self.usesProviderToken = usesProviderToken
        }
    }

    package enum Event: Sendable {
        /// Requests can be submitted, up to ``freeStreams``.
        case ready
        case responded(handle: Handle, APNsResponse)
        case lost(handle: Handle, Loss)
        /// APNs accepts no more requests on this connection. The reason is APNs' own, otherwise the name of HTTP/2's
        /// code. It may occur more than once.
        case goaway(reason: String)
        /// The connection closed; `nil` when the owner closed it and no request was lost.
        case closed(APNsError?)
    }

    struct Goaway {
        var reason: RejectionReason?
        var code: HTTP2ErrorCode

        var text: String {
            reason?.rawValue ?? code.description
        }

        var description: String {
            code.description + (reason.map { " \($0.rawValue)" } ?? "")
        }
    }

    package let configuration: Configuration
    var tls: TLSSession
    var http2: HTTP2ClientSession
    var writer: RequestWriter
    var machine = APNsConnectionMachine()
    /// The streams in the order of their timeouts. The first is open; others may have ended.
    var timeouts = Deque<(stream: Int32, deadline: Instant)>()
    /// The open requests whose success needs a response body.
    var resultsInBody: Set<Handle> = []
    var liveness = Liveness()
    var events = UniqueDeque<Event>()
    /// For the owner, when the transport or a deadline calls: events may follow, and streams, window or phase change.
    var eventWaker: Waker?
    /// For the network that drives the engine.
    package var waker: Waker?
    /// Whether the network will drain it anyway, for earlier requests.
    private var isAwake = false
    /// Data between TLS and HTTP/2, in either direction; empty between calls.
    var plaintext = ByteQueue()
    /// The limit of outgoing plaintext at a time, in bytes: two full TLS records and the end of a frame. It keeps a
    /// burst of requests from being buffered a third time.
    static let plaintextPart = 32 * 1024
    /// Whether APNs has accepted a provider token on this connection, or needs none.
    package internal(set) var isAuthenticated: Bool
    var goaway: Goaway?
    /// The reason for streams that we end.
    var lossDetail = ""
    package internal(set) var wantsDisconnect = false
    var now = Instant(nanoseconds: 0)
    package internal(set) var isEstablished = false
    /// How often it hit its limits. Limits that end it are the code of its ``Event/closed(_:)``.
    var counters = PoolCounters()

    package init(configuration: Configuration, tls context: TLSContext) throws(APNsError) {
        self.configuration = configuration
        let endpoint = configuration.endpoint
        tls = TLSSession(context: context, serverName: endpoint.host)
        var settings = HTTP2ClientSession.Settings()
        settings.maximumResponseBody = configuration.maximumResponseBody
        settings.wantedHeaders = ["apns-unique-id", "apns-channel-id", "apns-request-id"]
        settings.firstStreamID = configuration.firstStreamID
        do throws(HTTP2Error) {
            http2 = try HTTP2ClientSession(settings: settings)
        } catch {
            throw APNsError(http2: error)
        }
        writer = RequestWriter(authority: endpoint.authority)
        isAuthenticated = !configuration.usesProviderToken
    }

    package var phase: APNsConnectionMachine.Phase { machine.phase }

    /// The TLS parameters; `nil` before the handshake.
    package var security: TLSSummary? { tls.summary }

    /// Requests without an event yet.
    package var inFlight: Int { http2.openStreams }

    /// The peer's current stream limit, at most ``Configuration/maximumStreams``.
    package var maximumConcurrentStreams: Int {
        Int(min(http2.raw.remoteMaxConcurrentStreams, UInt32(configuration.maximumStreams)))
    }

    /// The number of requests that can be submitted now.
    ///
    /// With a provider token it is 1 until APNs has accepted a token. Source: "Sending notification requests to APNs",
    /// "Establish a connection to APNs".
    // Inlined, because a call in `submit` would copy the whole engine.
    @inline(__always)
    package var freeStreams: Int {
        guard phase == .ready else { return 0 }
        let limit = maximumConcurrentStreams
        return max(0, min((isAuthenticated ? limit : min(limit, 1)) - inFlight, http2.raw.remainingStreamIDs))
    }

    /// Its room for requests, if the owner grants so many permits.
    func capacity(permits: Int) -> Placement.Capacity {
        Placement.Capacity(
            freeStreams: freeStreams, permits: permits, window: http2.raw.remoteConnectionWindow, inFlight: inFlight)
    }

    /// Sends a request; a free stream is required.
    ///
    /// - Parameters:
    ///   - handle: the owner's name for the request, returned in its event.
    ///   - authorization: required if the configuration uses provider tokens.
    /// - Throws: when HTTP/2 does not accept the request. It then has no event and was certainly not processed.
    package mutating func submit(
        _ request: borrowing APNsRequest, handle: Handle, authorization: ProviderToken?, at now: Instant
    ) throws(APNsError) {
        self.now = now
        if !isAwake {
            isAwake = true
            waker?.wake()
        }
        precondition(freeStreams > 0, "a request needs a free stream")
        precondition((authorization != nil) == configuration.usesProviderToken, "one credential per connection")
        if inFlight == 0 { liveness.becameBusy(at: now) }
        writer.write(request, authorization: authorization, to: &http2.fields)
        let payload = request.hasBody ? request.notification.content.payload : nil
        do throws(HTTP2Error) {
            let stream = try http2.submit(body: payload, handle: handle)
            timeouts.append((stream, now + configuration.requestTimeout))
            if request.hasResultInBody { resultsInBody.insert(handle) }
        } catch {
            throw APNsError(http2: error)
        }
        if http2.raw.remainingStreamIDs == 0 { retire(at: now) }
    }

    /// Accepts no more requests. Closes when the open ones have ended, at the latest at the drain deadline.
    package mutating func retire(at now: Instant) {
        self.now = now
        waker?.wake()
        perform(machine.retire(drainDeadline: now + configuration.drainTimeout))
        endIfDrained()
    }

    package mutating func nextEvent() -> Event? {
        events.popFirst()
    }

    // MARK: Engine

    package mutating func transportOpened(at now: Instant) {
        calledByNetwork(at: now)
        perform(machine.transportOpened(handshakeDeadline: now + configuration.handshakeTimeout))
    }

    private mutating func calledByNetwork(at now: Instant) {
        self.now = now
        eventWaker?.wake()
    }

    package mutating func receive(_ bytes: Span<UInt8>, at now: Instant) {
        calledByNetwork(at: now)
        guard phase != .closed else { return }
        liveness.noteTraffic(at: now)
        tls.receive(bytes)
        do throws(APNsError) {
            let isClosed = try readAll()
            takeHTTP2Events()
            if isClosed { fail(closedByPeer()) }
        } catch {
            takeHTTP2Events()
            fail(error)
        }
    }

    package mutating func transportClosed(_ failure: TransportError?, at now: Instant) {
        calledByNetwork(at: now)
        wantsDisconnect = true
        if let failure {
            fail(APNsError(.transport, "the connection to \(configuration.endpoint) failed", underlying: failure))
        } else {
            fail(closedByPeer())
        }
    }

    package mutating func drain(into output: inout ByteQueue) {
        isAwake = false
        if machine.speaksHTTP2 {
            do throws(APNsError) {
                while try writePart() { tls.drain(into: &output) }
                takeHTTP2Events()
            } catch {
                takeHTTP2Events()
                fail(error)
            }
        }
        tls.drain(into: &output)
        if !events.isEmpty { eventWaker?.wake() }
    }

    package var nextDeadline: Instant? {
        switch phase {
        case .connecting, .closed: return nil
        case .handshaking: return machine.deadline
        case .ready, .draining:
            var earliest = liveness.deadline(isBusy: inFlight > 0, configuration)
            if let deadline = machine.deadline { earliest = min(earliest, deadline) }
            if let next = timeouts.first { earliest = min(earliest, next.deadline) }
            return earliest
        }
    }

    package mutating func expire(at now: Instant) {
        calledByNetwork(at: now)
        cancelOverdue()
        perform(machine.deadlinePassed(at: now))
        guard phase == .ready || phase == .draining else { return }
        let isBusy = inFlight > 0
        switch liveness.check(isBusy: isBusy, configuration, at: now) {
        case .none: break
        case .ping:
            counters[isBusy ? .stallPings : .idlePings] += 1
            ping()
        case .giveUp:
            fail(APNsError(.stalled, "\(configuration.endpoint) did not respond to a PING in time"))
        }
    }
}

extension Endpoint {
    /// The value of `:authority`. Source: RFC 9110, section 7.2.
    fileprivate var authority: String {
        if port != 443 { return description }
        return host.contains(":") ? "[\(host)]" : host
    }
}
