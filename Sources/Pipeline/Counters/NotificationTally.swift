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

    /// By app, those of messages without a known app first, and within an app by push type. The last row of each is
    /// for messages without one, which could not be decoded.
    private var rows: [[Entry]] = []

    /// - Parameters:
    ///   - app: `nil` if no app is known.
    ///   - pushType: `nil` if the message is not a notification.
    package mutating func count(app: AppID?, _ pushType: PushType?, _ outcome: Outcome, _ reason: RejectionReason?) {
        let row = Self.firstRow(of: app) + (pushType.map { Int($0.rawValue) } ?? Self.width - 1)
        while rows.count <= row { rows.append([]) }
        Self.count(outcome, reason, in: &rows[row])
    }

    private static let width = PushType.allCases.count + 1

    private static func firstRow(of app: AppID?) -> Int { app.map { ($0.index + 1) * width } ?? 0 }

    private static func count(_ outcome: Outcome, _ reason: RejectionReason?, in row: inout [Entry]) {
        for index in row.indices where row[index].outcome == outcome && row[index].reason == reason {
            row[index].count &+= 1
            return
        }
        guard let reason, reason != unknownReason, ResponseRule.documented(reason) == nil else {
            return row.append(Entry(outcome: outcome, reason: reason, count: 1))
        }
        count(outcome, unknownReason, in: &row)
    }

    /// The ID will be reused for another app.
    package mutating func forget(app: AppID) {
        let first = Self.firstRow(of: app)
        for row in first..<first + Self.width where row < rows.count { rows[row] = [] }
    }

    package struct Key: Hashable, Sendable {
        /// `nil` if no app is known.
        package let app: AppName?
        package let pushType: PushType?
        package let outcome: Outcome
        package let reason: RejectionReason?
    }

    package func add(to totals: inout [Key: UInt64], name: (AppID) -> AppName) {
        for (index, row) in rows.enumerated() where !row.isEmpty {
            let app = index < Self.width ? nil : name(AppID(index / Self.width - 1))
            let pushType = PushType(rawValue: UInt8(index % Self.width))
            for entry in row {
                let key = Key(app: app, pushType: pushType, outcome: entry.outcome, reason: entry.reason)
                totals[key, default: 0] += entry.count
            }
        }
    }
}
