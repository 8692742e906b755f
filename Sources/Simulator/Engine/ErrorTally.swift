/// The client errors on one connection.
///
/// Too many errors reduce the connection to one stream, and too many bad device tokens close it. A 410 does not count
/// as a client error. Source: "Handling notification responses from APNs".
struct ErrorTally {
    enum Consequence: Equatable {
        /// SETTINGS_MAX_CONCURRENT_STREAMS becomes 1.
        case slowdown
        /// GOAWAY.
        case goaway
    }

    private var errors = 0
    private var badTokens = 0

    mutating func count(_ response: SimulatedResponse, _ configuration: SimulatorConfiguration) -> Consequence? {
        guard (400..<500).contains(response.status), response.status != 410 else { return nil }
        errors += 1
        if response.reason == "BadDeviceToken" {
            badTokens += 1
            if badTokens == configuration.badTokenLimit { return .goaway }
        }
        return errors == configuration.errorLimit ? .slowdown : nil
    }
}
