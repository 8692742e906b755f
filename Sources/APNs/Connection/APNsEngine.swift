package import Core
import DequeModule
import HTTP2
package import TLS

/// Our end of one connection to APNs: TLS, HTTP/2 and the requests on it, without socket, clock or thread.
///
/// Every request that ``submit(_:handle:authorization:at:)`` takes ends in exactly one event,
/// ``Event/replied(handle:_:)`` or ``Event/lost(handle:_:)``, at the latest before ``Event/closed(_:)``, which is the
/// last event of all.
package final class APNsEngine: Engine {
    package struct Configuration: Sendable {
        package var endpoint: Endpoint
        /// Without one the connection's certificate speaks for the provider.
        package var usesProviderToken: Bool
        /// For an answer, counted from when the request was submitted.
        package var requestTimeout = Duration.seconds(30)
        /// For TLS and the peer's first SETTINGS, counted from when the transport was open.
        package var handshakeTimeout = Duration.seconds(10)
        /// For the streams that are open when the connection starts to drain.
        package var drainTimeout = Duration.seconds(15)
        /// How long the peer may be silent while requests wait, before a PING asks whether it is there.
        package var stallLimit = Duration.seconds(10)
        /// How long the peer may be silent while nothing waits, before a PING.
        package var pingIdle = Duration.seconds(3600)
        /// How long a PING may go unanswered.
        package var pongTimeout = Duration.seconds(5)
        /// Bytes that are kept of an answer's body; those of Apple's refusals are below 100.
        package var maximumReplyBody = 4096
        /// The same where channels may be listed: all that an app can have, with the longest IDs that we know.
        package static let maximumChannelList =
            ChannelOperation.maximumChannels * (ChannelOperation.maximumChannelID + 8)
        /// Streams at once, whatever more the peer allows.
        package var maximumStreams = 1000
        /// Where the numbering of streams starts: odd, and a way to see in a test how it ends.
        package var firstStreamID: Int32 = 1

        package init(endpoint: Endpoint, usesProviderToken: Bool) {
            self.endpoint = endpoint
            self.usesProviderToken = usesProviderToken
        }
    }

    package enum Event: Sendable {
        /// Requests can be submitted, as ``freeStreams`` says.
        case ready
        case replied(handle: Handle, APNsReply)
        case lost(handle: Handle, Loss)
        /// APNs takes no more requests on this connection: the reason that it gave, else the name of HTTP/2's code. May
        /// come more than once.
        case goaway(reason: String)
        /// The end; `nil` when it was our wish and nothing was lost.
        case closed(APNsError?)
    }

    /// Why the peer said that it is leaving.
    struct Goaway {
        var reason: RejectionReason?
        var code: HTTP2ErrorCode

        var text: String {
            reason?.rawValue ?? code.description
        }

        /// Code and reason.
        var description: String {
            code.description + (reason.map { " \($0.rawValue)" } ?? "")
        }
    }

    /// How often an engine met its limits; those that end it are the code of its ``Event/closed(_:)``.
    package struct Encounters: Sendable {
        package var requestTimeouts = 0
        package var replyBodyLimitHits = 0
        package var stallPings = 0
        package var idlePings = 0
    }

    /// What the engine keeps about the requests that have no end yet.
    struct OpenRequests {
        /// The streams in the order in which they time out. The first is open; some of the others have ended already.
        var timeouts = Deque<(stream: Int32, deadline: Instant)>()
        /// The requests whose success is worth nothing without its body.
        var answeredInBody: Set<Handle> = []
    }

    /// How the engine calls those that use it.
    private struct Callbacks {
        /// See ``APNsEngine/onNews``.
        var onNews: (() -> Void)?
        /// Wakes the network that drives the engine.
        var wake: (() -> Void)?
        /// Whether the network was woken for requests since the last drain.
        var hasUndrained = false
    }

    /// How the connection ends, as far as that is known.
    struct Ending {
        /// Why APNs is leaving; `nil` if it is not.
        var goaway: Goaway?
        /// Why streams end that we end ourselves.
        var lossDetail = ""
        var wantsDisconnect = false
    }

    package let configuration: Configuration
    let tls: TLSSession
    let http2: HTTP2ClientSession
    var writer: RequestWriter
    var machine = ConnectionMachine.connecting
    var open = OpenRequests()
    var liveness: Liveness
    var events = Deque<Event>()
    private var callbacks = Callbacks()
    /// Between TLS and HTTP/2, in either direction; empty between calls.
    var plaintext = ByteQueue()
    /// How much of it there is at a time on the way out, in bytes: two full TLS records, and the end of a frame. A
    /// burst of requests lies in memory once more as ciphertext, and not three times.
    static let plaintextPart = 32 * 1024
    var isAuthenticated: Bool
    var ending = Ending()
    /// When the engine was last called.
    var now = Instant(nanoseconds: 0)
    package internal(set) var isEstablished = false
    /// How often it met its limits.
    package internal(set) var encounters = Encounters()

    package init(configuration: Configuration, tls context: TLSContext) throws(APNsError) {
        self.configuration = configuration
        let endpoint = configuration.endpoint
        tls = TLSSession(context: context, serverName: endpoint.host)
        var settings = HTTP2ClientSession.Settings()
        settings.maximumResponseBody = configuration.maximumReplyBody
        settings.wantedHeaders = ["apns-unique-id", "apns-channel-id", "apns-request-id"]
        settings.firstStreamID = configuration.firstStreamID
        do throws(HTTP2Error) {
            http2 = try HTTP2ClientSession(settings: settings)
        } catch {
            throw APNsError(http2: error)
        }
        writer = RequestWriter(authority: endpoint.authority)
        isAuthenticated = !configuration.usesProviderToken
        liveness = Liveness(
            idleLimit: configuration.pingIdle, stallLimit: configuration.stallLimit,
            pongLimit: configuration.pongTimeout, at: now)
    }

    /// Called when the transport or a deadline has called: there may be events, and streams, window or phase may have
    /// changed.
    var onNews: (() -> Void)? {
        get { callbacks.onNews }
        set { callbacks.onNews = newValue }
    }

    package var phase: ConnectionMachine.Phase {
        machine.phase
    }

    /// What TLS has agreed upon; `nil` before.
    package var security: TLSSummary? { tls.summary }

    /// Requests without an end yet.
    package var inFlight: Int {
        http2.openStreams
    }

    /// How many streams the peer allows, as it last said, within ``Configuration/maximumStreams``.
    package var maximumConcurrentStreams: Int {
        Int(min(http2.remoteMaxConcurrentStreams, UInt32(configuration.maximumStreams)))
    }

    /// How many requests can be submitted now.
    ///
    /// With a provider token it is one at a time until APNs has taken a token. Source: "Sending notification requests
    /// to APNs", "Establish a connection to APNs".
    package var freeStreams: Int {
        guard phase == .ready else { return 0 }
        let limit = maximumConcurrentStreams
        return max(0, min((isAuthenticated ? limit : min(limit, 1)) - inFlight, http2.remainingStreamIDs))
    }

    /// Whether APNs has not taken a provider token on this connection yet.
    package var awaitsAuthentication: Bool {
        !isAuthenticated
    }

    /// Bytes of payload that APNs still takes on the whole connection.
    package var window: Int {
        http2.remoteConnectionWindow
    }

    /// Sends a request; there must be a free stream.
    ///
    /// - Parameters:
    ///   - handle: the owner's name for the request, given back in its event.
    ///   - authorization: where the configuration says that provider tokens are used.
    /// - Throws: when HTTP/2 does not take the request; then it has no event and was certainly not processed.
    package func submit(
        _ request: borrowing APNsRequest, handle: Handle, authorization: ProviderToken?, at now: Instant
    ) throws(APNsError) {
        self.now = now
        if !callbacks.hasUndrained {
            callbacks.hasUndrained = true
            callbacks.wake?()
        }
        precondition(freeStreams > 0, "a request needs a free stream")
        precondition((authorization != nil) == configuration.usesProviderToken, "one credential per connection")
        if inFlight == 0 { liveness.becameBusy(at: now) }
        writer.write(request, authorization: authorization, to: http2)
        let payload = request.hasBody ? request.payload : nil
        do throws(HTTP2Error) {
            let stream = try http2.submit(body: payload, handle: handle)
            open.timeouts.append((stream, now + configuration.requestTimeout))
            if request.answersInBody { open.answeredInBody.insert(handle) }
        } catch {
            throw APNsError(http2: error)
        }
        if http2.remainingStreamIDs == 0 { retire(at: now) }
    }

    /// Takes no more requests; closes once the open ones have ended, at the latest at the drain deadline.
    package func retire(at now: Instant) {
        self.now = now
        callbacks.wake?()
        perform(machine.retire(drainDeadline: now + configuration.drainTimeout))
        endIfDrained()
        if !events.isEmpty { callbacks.onNews?() }
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    // MARK: Engine

    package func transportOpened(at now: Instant) {
        called(at: now)
        liveness.heard(at: now)
        perform(machine.transportOpened(handshakeDeadline: now + configuration.handshakeTimeout))
    }

    private func called(at now: Instant) {
        self.now = now
        callbacks.onNews?()
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        called(at: now)
        guard phase != .closed else { return }
        liveness.heard(at: now)
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

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        called(at: now)
        ending.wantsDisconnect = true
        if let failure {
            fail(APNsError(.transport, "the connection to \(configuration.endpoint) failed", underlying: failure))
        } else {
            fail(closedByPeer())
        }
    }

    package func announceChanges(to wake: @escaping () -> Void) -> Bool {
        callbacks.wake = wake
        return true
    }

    package func drain(into output: inout ByteQueue) {
        callbacks.hasUndrained = false
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
        if !events.isEmpty { callbacks.onNews?() }
    }

    package var wantsDisconnect: Bool { ending.wantsDisconnect }

    package var nextDeadline: Instant? {
        switch phase {
        case .connecting, .closed: return nil
        case .handshaking: return machine.deadline
        case .ready, .draining:
            var earliest = liveness.deadline(isBusy: inFlight > 0)
            if let deadline = machine.deadline { earliest = min(earliest, deadline) }
            if let next = open.timeouts.first { earliest = min(earliest, next.deadline) }
            return earliest
        }
    }

    package func expire(at now: Instant) {
        called(at: now)
        cancelOverdue()
        perform(machine.deadlinePassed(at: now))
        guard phase == .ready || phase == .draining else { return }
        let isBusy = inFlight > 0
        switch liveness.check(isBusy: isBusy, at: now) {
        case .none: break
        case .ping:
            if isBusy { encounters.stallPings += 1 } else { encounters.idlePings += 1 }
            ping()
        case .giveUp:
            fail(APNsError(.stalled, "\(configuration.endpoint) is silent: it did not answer a PING in time"))
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
