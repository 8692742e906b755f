package import Core

/// The history of a request from the headers of its copies: attempts, retries and deferrals.
package struct RequestHistory {
    /// The headers that a retry copy adds to the request's.
    enum Header {
        static let parkings = "harebell-parked"
        static let deferrals = "harebell-deferred"
        static let attempts = "harebell-attempts"
        static let processed = "harebell-processed"
        static let expiresAt = "harebell-expires-at"
        static let done = "harebell-done"

        /// The headers that a dead letter omits, so that its replay starts from the beginning.
        static let parkedOnly = [parkings, deferrals, processed, expiresAt]
    }

    /// How often it was put into a retry queue, deferrals included.
    package private(set) var parkings = 0
    /// How often it was put into a retry queue because of a deferral.
    package private(set) var deferrals = 0
    /// The attempts of earlier rounds. Ignored in a replay of a dead letter, which starts from the beginning.
    package private(set) var attempts = 0
    /// What APNs did in all those attempts.
    package private(set) var processed = Processed.no
    /// The end of the AMQP expiration of a parked request; a copy cannot keep that property.
    package private(set) var expiresAt: WallTime?
    /// A ``DoneBitmap``, possibly malformed.
    package private(set) var done: ArraySlice<UInt8>?
    private var replays = 0

    package init(_ delivery: borrowing Delivery) {
        guard delivery.headerCount > 0 else { return }
        delivery.forEachHeader(named: { HeaderName($0) }) { name, value in read(name, value) }
        guard parkings == 0 else { return }
        deferrals = 0
        attempts = 0
        processed = .no
        expiresAt = nil
    }

    private enum HeaderName {
        case parked, deferred, attempts, replays, expiresAt, done, processed

        init?(_ name: Span<UInt8>) {
            // Most names differ in length, so one comparison is enough.
            switch name.count {
            case 13 where name.equals("harebell-done"): self = .done
            case 15 where name.equals("harebell-parked"): self = .parked
            case 16 where name.equals("harebell-replays"): self = .replays
            case 17 where name.equals("harebell-deferred"): self = .deferred
            case 17 where name.equals("harebell-attempts"): self = .attempts
            case 18 where name.equals("harebell-processed"): self = .processed
            case 19 where name.equals("harebell-expires-at"): self = .expiresAt
            default: return nil
            }
        }
    }

    private mutating func read(_ name: HeaderName, _ value: Delivery.HeaderValue) {
        switch (name, value) {
        case (.parked, .integer(let count)): parkings = Self.counted(count)
        case (.deferred, .integer(let count)): deferrals = Self.counted(count)
        case (.attempts, .integer(let count)): attempts = Self.counted(count)
        case (.replays, .integer(let count)): replays = Self.counted(count)
        case (.expiresAt, .integer(let milliseconds)): expiresAt = WallTime(milliseconds: milliseconds)
        case (.done, .text(let text)): done = text
        case (.processed, .text(let text)): processed = text.equals(Processed.unknown.name) ? .unknown : .yes
        default: return
        }
    }

    private static func counted(_ count: Int64) -> Int {
        Int(Int32(clamping: max(0, count)))
    }

    /// How often it was put into a retry queue because of a failure; selects the next level.
    package var failureCount: Int {
        max(0, parkings - deferrals)
    }

    /// Differs between the simultaneous copies of one request: the original, and parked or replayed ones.
    package var copy: Int {
        parkings << 32 | replays
    }
}
