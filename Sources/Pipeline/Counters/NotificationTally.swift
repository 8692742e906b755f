package import Core

/// Notifications that have ended, by app, push type, outcome and reason.
///
/// Each app and push type has a row of the outcomes that occurred, usually with the most frequent first. Counting
/// searches a few entries, and allocates only for a new one. All reasons that Apple does not document count as one,
/// which bounds the memory here and in the scraper.
package struct NotificationTally: Sendable {
    /// Replaces every reason that Apple does not document.
    package static let unknownReason = RejectionReason(rawValue: "unknown")

    struct Entry: Sendable {
        let outcome: Outcome
        let reason: RejectionReason?
        var count: UInt64
    }

    /// By app, and within an app by push type.
    private var rows: [[Entry]] = []
    /// By push type; the last row is for messages without one, which could not be decoded or name no app.
    private var unnamed: [[Entry]] = Array(repeating: [], count: PushType.allCases.count + 1)

    /// - Parameters:
    ///   - app: `nil` if no app is known.
    ///   - pushType: `nil` if the message is not a notification.
    package mutating func count(app: AppID?, _ pushType: PushType?, _ outcome: Outcome, _ reason: RejectionReason?) {
        guard let app, let pushType else {
            Self.count(outcome, reason, in: &unnamed[pushType.map { Int($0.rawValue) } ?? Self.width])
            return
        }
        let row = app.index * Self.width + Int(pushType.rawValue)
        while rows.count <= row { rows.append([]) }
        Self.count(outcome, reason, in: &rows[row])
    }

    private static let width = PushType.allCases.count

    private static func count(_ outcome: Outcome, _ reason: RejectionReason?, in row: inout [Entry]) {
        for index in row.indices where row[index].outcome == outcome && row[index].reason == reason {
            row[index].count &+= 1
            return
        }
        guard let reason, reason != unknownReason, !ResponseRule.isDocumented(reason) else {
            row.append(Entry(outcome: outcome, reason: reason, count: 1))
            return
        }
        count(outcome, unknownReason, in: &row)
    }

    /// The ID will be reused for another app.
    package mutating func forget(app: AppID) {
        for row in app.index * Self.width..<(app.index + 1) * Self.width where row < rows.count { rows[row] = [] }
    }

    package struct Key: Hashable, Sendable {
        /// `nil` if no app is known.
        package let app: AppName?
        package let pushType: PushType?
        package let outcome: Outcome
        package let reason: RejectionReason?
    }

    package func add(to totals: inout [Key: UInt64], name: (AppID) -> AppName) {
        func add(_ row: [Entry], _ app: @autoclosure () -> AppName?, _ pushType: PushType?) {
            guard !row.isEmpty else { return }
            let app = app()
            for entry in row {
                let key = Key(app: app, pushType: pushType, outcome: entry.outcome, reason: entry.reason)
                totals[key, default: 0] += entry.count
            }
        }
        for (index, row) in rows.enumerated() {
            add(row, name(AppID(index / Self.width)), PushType(rawValue: UInt8(index % Self.width)))
        }
        for (index, row) in unnamed.enumerated() { add(row, nil, PushType(rawValue: UInt8(index))) }
    }
}
