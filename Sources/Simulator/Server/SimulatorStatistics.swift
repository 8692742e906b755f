/// What the simulator has seen and done since it started. Every number only grows, but for ``openConnections``.
///
/// It is flat because each property is one counter, read by name in `harebell simulate` and in tests.
package struct SimulatorStatistics: Equatable, Sendable {
    package var connections = 0
    package var openConnections = 0
    /// Connections that ended with an error of TLS or HTTP/2, or for want of `h2` in ALPN.
    package var failedConnections = 0
    /// Connections whose TLS handshake went on from an earlier one's session.
    package var resumedConnections = 0
    /// Connections that were cut at once because too many had been opened lately.
    package var refusedConnections = 0
    package var requests = 0
    /// Answers by status.
    package var answers: [UInt16: Int] = [:]
    /// Answers other than success by reason.
    package var reasons: [String: Int] = [:]
    /// Requests that were left without an answer on purpose.
    package var silences = 0
    package var resets = 0
    /// Requests whose stream or connection ended before their answer was due.
    package var lost = 0
    /// Requests above the last-stream-id of a GOAWAY: not looked at.
    package var ceded = 0
    package var goaways = 0
    package var cuts = 0
    /// How often a connection changed its provider token.
    package var tokenUpdates = 0
    package var pings = 0
    /// Answers to our own.
    package var pongs = 0
    /// PRIORITY frames, and HEADERS that carry priority: Apple asks for none.
    package var priorityFrames = 0
    /// `apns-id`, `apns-expiration` and `apns-collapse-id` put into the HPACK table again after the first time on a
    /// connection, and `:path` and `authorization` put into it at all. Source: "Sending notification requests to APNs".
    package var wronglyIndexedHeaders = 0
    /// Compressed, in bytes.
    package var headerBytes = 0
    package var payloadBytes = 0
    /// Requests whose apns-id was seen before.
    package var repeated = 0
    /// Requests that were accepted although their apns-id had been accepted before: a person got it twice.
    package var duplicates = 0

    package init() {}

    package var accepted: Int { answers[200, default: 0] }
}
