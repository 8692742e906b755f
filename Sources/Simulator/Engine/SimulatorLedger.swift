package import Core
package import HTTP2

/// Counts the requests of a simulator, also those with a known apns-id.
package final class SimulatorLedger: Sendable {
    package enum Ending: Equatable, Sendable {
        case responded(UInt16, reason: String?)
        /// Deliberately left without a response.
        case silent
        case reset(HTTP2ErrorCode)
        /// Its stream or connection ended before the response was due.
        case lost
    }

    package struct Record: Sendable {
        /// The client's ID; a new one if it was missing or invalid.
        package var apnsID: NotificationID
        package var fields: RequestHeaders
        package var payload: [UInt8]
        /// From 1, in the order in which the connections were opened.
        package var connection: Int
        package var stream: Int32
        package var receivedAt: Instant
        package var endedAt: Instant
        package var ending: Ending
        /// The rule that refused it or determined its ending; `nil` if it was simply accepted.
        package var cause: String?

        /// As in the path; empty if the path has none.
        package var deviceToken: ArraySlice<UInt8> {
            guard let path = fields.path, path[...].hasPrefix("/3/device/") else { return [] }
            return path.dropFirst(10)
        }
    }

    private struct State {
        var statistics = SimulatorStatistics()
        var sightings: [NotificationID: (seen: Int, isAccepted: Bool)] = [:]
    }

    private let state = Guarded(State())
    private let maximumIDs: Int

    /// - Parameter maximumNotificationIDs: the number of apns-ids that it remembers to find duplicates.
    package init(maximumNotificationIDs: Int = 2_000_000) {
        maximumIDs = maximumNotificationIDs
    }

    package var statistics: SimulatorStatistics { state.withLock { $0.statistics } }

    package func timesSeen(_ id: NotificationID) -> Int { state.withLock { $0.sightings[id]?.seen ?? 0 } }

    func count(_ body: (inout SimulatorStatistics) -> Void) {
        state.withLock { body(&$0.statistics) }
    }

    /// - Returns: the number of this attempt, from 1.
    func received(_ id: NotificationID, headerBytes: Int, payloadBytes: Int) -> Int {
        state.withLock { state in
            state.statistics.requests += 1
            state.statistics.headerBytes += headerBytes
            state.statistics.payloadBytes += payloadBytes
            guard state.sightings.count < maximumIDs || state.sightings[id] != nil else { return 1 }
            state.sightings[id, default: (0, false)].seen += 1
            let attempt = state.sightings[id]?.seen ?? 1
            if attempt > 1 { state.statistics.repeated += 1 }
            return attempt
        }
    }

    func ended(_ record: Record) {
        state.withLock { state in
            switch record.ending {
            case .responded(let status, let reason):
                state.statistics.responses[status, default: 0] += 1
                if let reason { state.statistics.reasons[reason, default: 0] += 1 }
                guard status == 200, let sighting = state.sightings[record.apnsID] else { return }
                if sighting.isAccepted { state.statistics.duplicates += 1 }
                state.sightings[record.apnsID]?.isAccepted = true
            case .silent: state.statistics.silences += 1
            case .reset: state.statistics.resets += 1
            case .lost: state.statistics.lost += 1
            }
        }
    }
}
