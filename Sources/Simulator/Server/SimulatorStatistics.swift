/// The counters of the simulator since its start. All of them only grow, except ``openConnections``.
///
/// It is flat because each property is one counter, read by name in `harebell simulate` and in tests.
package struct SimulatorStatistics: Equatable, Sendable {
    package var connections = 0
    package var openConnections = 0
    /// Connections that ended with an error of TLS or HTTP/2, or because ALPN did not offer `h2`.
    package var failedConnections = 0
    /// Connections that were cut because too many had been opened recently.
    package var refusedConnections = 0
    package var requests = 0
    package var responses: [UInt16: Int] = [:]
    package var reasons: [String: Int] = [:]
    /// Requests deliberately left without a response.
    package var silences = 0
    package var resets = 0
    /// Requests whose stream or connection ended before their response was due.
    package var lost = 0
    /// Requests above the last-stream-id of a GOAWAY: ignored.
    package var ceded = 0
    package var goaways = 0
    package var cuts = 0
    package var tokenUpdates = 0
    package var pings = 0
    /// Responses to the simulator's PINGs.
    package var pongs = 0
    /// PRIORITY frames, and HEADERS with priority: Apple asks for none.
    package var priorityFrames = 0
    /// Compressed, in bytes.
    package var headerBytes = 0
    package var payloadBytes = 0
    /// Requests whose apns-id was seen before.
    package var repeated = 0
    /// Accepted requests whose apns-id had been accepted before: the device got the notification twice.
    package var duplicates = 0

    package var accepted: Int { responses[200, default: 0] }
}
