package import Core

/// What the copies of a request say of it in their headers: how often it was tried, and put aside.
package struct RequestHistory {
    /// The headers that a retry copy has beside the request's own.
    enum Header {
        static let parkings = "harebell-parked"
        static let deferrals = "harebell-deferred"
        static let attempts = "harebell-attempts"
        static let processed = "harebell-processed"
        static let expiresAt = "harebell-expires-at"
        static let done = "harebell-done"

        /// Those that a dead letter does not keep, so that its replay begins anew.
        static let parkedOnly = [parkings, deferrals, processed, expiresAt]
    }

    /// How often it was put into a retry queue.
    package private(set) var parkings = 0
    /// How often of those its decoder put it off.
    package private(set) var deferrals = 0
    /// The attempts that count, in the rounds before this one. A dead letter says so as well, but its replay begins anew.
    package private(set) var attempts = 0
    /// What APNs did with those attempts together.
    package private(set) var processed = Processed.no
    /// When what was parked expires by its AMQP expiration, which a copy cannot keep.
    package private(set) var expiresAt: WallTime?
    /// A ``DoneBitmap``, well formed or not.
    package private(set) var done: ArraySlice<UInt8>?
    private var replays = 0

    package init(_ delivery: borrowing Delivery) {
        guard delivery.headerCount > 0 else { return }
        delivery.forEachHeader(named: { HeaderName($0) }) { read($0, $1) }
        guard parkings == 0 else { return }
        deferrals = 0
        attempts = 0
        processed = .no
        expiresAt = nil
    }

    private enum HeaderName {
        case parked, deferred, attempts, replays, expiresAt, done, processed

        init?(_ name: Span<UInt8>) {
            // Hardly two names are of one length: one comparison tells.
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
        default: break
        }
    }

    private static func counted(_ count: Int64) -> Int {
        Int(Int32(clamping: max(0, count)))
    }

    /// How often it was put into a retry queue because of trouble: what chooses the next level.
    package var troubles: Int {
        max(0, parkings - deferrals)
    }

    /// Differs between the copies that one request may have at a time: its own, and those that were parked or replayed.
    package var copy: Int {
        parkings << 32 | replays
    }
}
