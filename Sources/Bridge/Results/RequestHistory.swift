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
        delivery.forEachHeader { name, value in
            guard name.count > Self.prefix.utf8CodeUnitCount,
                name.prefix(Self.prefix.utf8CodeUnitCount).equals(Self.prefix)
            else { return }
            read(name.dropFirst(Self.prefix.utf8CodeUnitCount), value)
        }
        guard parkings == 0 else { return }
        deferrals = 0
        attempts = 0
        processed = .no
        expiresAt = nil
    }

    private static let prefix: StaticString = "harebell-"

    private mutating func read(_ name: ArraySlice<UInt8>, _ value: Delivery.HeaderValue) {
        switch value {
        case .integer(let integer):
            let count = Int(Int32(clamping: max(0, integer)))
            if name.equals("parked") {
                parkings = count
            } else if name.equals("deferred") {
                deferrals = count
            } else if name.equals("attempts") {
                attempts = count
            } else if name.equals("replays") {
                replays = count
            } else if name.equals("expires-at") {
                expiresAt = WallTime(milliseconds: integer)
            }
        case .text(let text):
            if name.equals("done") {
                done = text
            } else if name.equals("processed") {
                processed = text.equals(Processed.unknown.name) ? .unknown : .yes
            }
        case .number, .boolean, .other: break
        }
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
