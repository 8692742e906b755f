import Core
import HTTP2
import Simulator
import TLS
import TestSupport

/// A provider at the other end of a memory link: real TLS and HTTP/2, no socket, no clock.
final class Provider {
    static let authority = CertificateAuthority(commonName: "Test", now: Samples.start.wall)
    static let server = authority.issue(names: ["localhost"], usage: .server)

    let context: SimulatorContext
    let engine: SimulatorEngine
    var tls: TLSSession
    var http: HTTP2ClientSession
    private(set) var now: Instant
    private var toServer = ByteQueue()
    private var toClient = ByteQueue()
    private var plaintext = ByteQueue()
    private var nextHandle: Handle = 0

    private(set) var responses: [Handle: HTTP2Response] = [:]
    private(set) var resets: [Handle: HTTP2ErrorCode] = [:]
    private(set) var goaways: [(last: Int32, code: HTTP2ErrorCode, text: String)] = []
    /// The number of streams that the provider may open, as the simulator announces it.
    private(set) var limits: [UInt32] = []
    /// Whether the simulator has closed the connection, and whether it sent close_notify.
    private(set) var isClosed = false
    private(set) var hasFarewell = false

    static func context(
        _ script: String = "", _ change: (inout SimulatorConfiguration) -> Void = { _ in }
    ) throws -> SimulatorContext {
        var configuration = SimulatorConfiguration()
        change(&configuration)
        let script = try Script(script, file: "test", &configuration)
        let identity = TLSContext.Identity.pemText(
            certificates: server.certificatePEM, privateKey: server.privateKeyPEM)
        return try SimulatorContext(configuration, script: script, identity: identity, now: Samples.start)
    }

    /// Connects; the simulator allows more than one stream after a first request.
    init(
        _ context: SimulatorContext, at now: Instant = Samples.start.instant, identity: TLSContext.Identity? = nil,
        protocols: [String] = ["h2"], firstStreamID: Int32 = 1
    ) throws {
        self.context = context
        self.now = now
        engine = try context.makeEngine()
        let client = try TLSContext(
            role: .client, trust: .pem(Self.authority.certificatePEM), identity: identity, protocols: protocols,
            checkedAt: Samples.start.wall)
        tls = TLSSession(context: client, serverName: "localhost")
        var settings = HTTP2ClientSession.Settings()
        settings.wantedHeaders = ["apns-id", "apns-unique-id", "apns-request-id", "apns-channel-id", "content-type"]
        settings.firstStreamID = firstStreamID
        settings.maximumResponseBody = 100_000
        http = try HTTP2ClientSession(settings: settings)
        engine.transportOpened(at: now)
        try exchange()
    }

    convenience init(script: String = "", _ change: (inout SimulatorConfiguration) -> Void = { _ in }) throws {
        try self.init(Self.context(script, change))
    }

    // MARK: Requests

    /// Submits a request without sending it.
    @discardableResult
    func submit(_ headers: [HTTP2Header] = Samples.headers(), _ body: [UInt8] = Samples.payload) throws -> Handle {
        nextHandle = nextHandle.advanced(by: 1)
        http.fields.removeAll()
        for header in headers {
            http.fields.add(
                Self.name(header.nameText), header.value.span, neverIndexed: Self.isNeverIndexed(header.nameText))
        }
        _ = try http.submit(body: body.isEmpty ? nil : body[...], handle: nextHandle)
        return nextHandle
    }

    /// Sends a request and receives the immediate response.
    @discardableResult
    func send(
        token: String = Samples.token, _ changes: [String: String?] = [:], _ body: [UInt8] = Samples.payload
    ) throws -> Handle {
        let handle = try submit(Samples.headers(token: token, changes), body)
        try exchange()
        return handle
    }

    func reason(_ handle: Handle) -> String? {
        guard let response = responses[handle] else { return nil }
        return "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
    }

    func status(_ handle: Handle) -> UInt16? { responses[handle]?.status }

    func reset(_ handle: Handle) -> HTTP2ErrorCode? { resets[handle] }

    private static func isNeverIndexed(_ name: String) -> Bool {
        [":path", "authorization", "apns-id", "apns-expiration", "apns-collapse-id"].contains(name)
    }

    private static func name(_ name: String) -> StaticString {
        let names: [StaticString] = [
            ":method", ":scheme", ":path", "host", "authorization", "apns-id", "apns-push-type", "apns-expiration",
            "apns-priority", "apns-topic", "apns-collapse-id", "apns-channel-id", "apns-request-id",
        ]
        guard let known = names.first(where: { $0.description == name }) else {
            preconditionFailure("unknown \(name)")
        }
        return known
    }

    // MARK: The link

    /// Exchanges bytes until neither end has more to send.
    func exchange(step: Int = .max) throws {
        repeat {
            if try tls.handshake() {
                try http.drain(into: &plaintext)
                try tls.write(from: &plaintext)
            }
            tls.drain(into: &toServer)
            while !toServer.isEmpty, !isClosed {
                let count = min(step, toServer.count)
                toServer.withBytes { engine.receive($0.extracting(0..<count), at: now) }
                toServer.consume(count)
            }
            engine.drain(into: &toClient)
            if !toClient.isEmpty {
                toClient.withBytes { tls.receive($0) }
                toClient.removeAll()
                if try tls.handshake() { try read() }
            }
            if engine.wantsDisconnect, !isClosed {
                isClosed = true
                engine.transportClosed(nil, at: now)
            }
        } while try speaks()
    }

    private func speaks() throws -> Bool {
        guard !isClosed, tls.isEstablished else { return false }
        try http.drain(into: &plaintext)
        return !plaintext.isEmpty
    }

    private func read() throws {
        reading: while true {
            switch try tls.read(into: &plaintext) {
            case .bytes:
                try plaintext.withBytes { (bytes) throws(HTTP2Error) in try http.receive(bytes) }
                plaintext.removeAll()
            case .closed:
                hasFarewell = true
                break reading
            case .wantsInput: break reading
            }
        }
        while let event = http.nextEvent() {
            switch event {
            case .settings: limits.append(http.raw.remoteMaxConcurrentStreams)
            case .response(let handle, let response): responses[handle] = response
            case .reset(let handle, let code, _): resets[handle] = code
            case .goaway(let last, let code, let data):
                goaways.append((last, code, String(decoding: data, as: UTF8.self)))
            }
        }
    }

    /// Advances time through every deadline of the engine.
    func advance(by duration: Duration) throws {
        let end = now + duration
        while let deadline = engine.nextDeadline, deadline <= end {
            now = max(now, deadline)
            engine.expire(at: now)
            try exchange()
        }
        now = end
    }

    /// The connection breaks.
    func disconnect() {
        guard !isClosed else { return }
        isClosed = true
        engine.transportClosed(TransportError(.init(rawValue: "ECONNRESET"), "reset"), at: now)
    }
}
