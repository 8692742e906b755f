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

    /// The values of the headers. An object, because few requests have these headers, and thousands are in flight.
    private final class Marks {
        var parkings = 0
        var deferrals = 0
        var attempts = 0
        var processed = Processed.no
        var expiresAt: WallTime?
        var done: ArraySlice<UInt8>?
        var replays = 0
    }

    private let marks: Marks?

    package init(_ delivery: borrowing Delivery) {
        var marks: Marks?
        if delivery.headerCount > 0 {
            delivery.forEachHeader(named: { HeaderName($0) }) { name, value in
                let known = marks ?? Marks()
                Self.read(name, value, into: known)
                marks = known
            }
        }
        if let marks, marks.parkings == 0 {
            marks.deferrals = 0
            marks.attempts = 0
            marks.processed = .no
            marks.expiresAt = nil
        }
        self.marks = marks
    }

    /// How often it was put into a retry queue, deferrals included.
    package var parkings: Int { marks?.parkings ?? 0 }
    /// How often it was put into a retry queue because of a deferral.
    package var deferrals: Int { marks?.deferrals ?? 0 }
    /// The attempts of earlier rounds. Ignored in a replay of a dead letter, which starts from the beginning.
    package var attempts: Int { marks?.attempts ?? 0 }
    /// What APNs did in all those attempts.
    package var processed: Processed { marks?.processed ?? .no }
    /// The end of the AMQP expiration of a parked request; a copy cannot keep that property.
    package var expiresAt: WallTime? { marks?.expiresAt }
    /// A ``DoneBitmap``, possibly malformed.
    package var done: ArraySlice<UInt8>? { marks?.done }

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

    private static func read(_ name: HeaderName, _ value: Delivery.HeaderValue, into marks: Marks) {
        switch (name, value) {
        case (.parked, .integer(let count)): marks.parkings = counted(count)
        case (.deferred, .integer(let count)): marks.deferrals = counted(count)
        case (.attempts, .integer(let count)): marks.attempts = counted(count)
        case (.replays, .integer(let count)): marks.replays = counted(count)
        case (.expiresAt, .integer(let milliseconds)): marks.expiresAt = WallTime(milliseconds: milliseconds)
        case (.done, .text(let text)): marks.done = text
        case (.processed, .text(let text)): marks.processed = text.equals(Processed.unknown.name) ? .unknown : .yes
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
        parkings << 32 | (marks?.replays ?? 0)
    }
}
