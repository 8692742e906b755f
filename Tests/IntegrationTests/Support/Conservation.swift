import Core
import Foundation
import Simulator
import TestSupport

/// The outcomes of each request of a load, and their counts.
struct Conservation {
    let count: Int
    /// Requests that may be in their queue twice, because the publisher missed a confirm: they count as present, but
    /// not as duplicates.
    var repeated: Set<Int> = []
    private(set) var results: [Int: Int] = [:]
    private(set) var outcomes: [String: Int] = [:]
    private(set) var deadLetters: [Int: Int] = [:]
    private(set) var queued: [Int: Int] = [:]
    /// Messages that belong to no request of the load.
    private(set) var strangers = 0
    /// For each request, every apns-id in its results.
    private var ids: [Int: Set<String>] = [:]
    private let requests: Requests

    init(_ requests: Requests, count: Int) {
        self.requests = requests
        self.count = count
    }

    mutating func addResult(_ delivery: Delivery) throws {
        guard let index = requests.index(ofMessageID: delivery.correlationID) else { return strangers += 1 }
        results[index, default: 0] += 1
        let result = try Result(delivery)
        outcomes[result.outcome, default: 0] += 1
        ids[index, default: []].insert(result.apnsID ?? "none")
    }

    mutating func addDeadLetter(_ delivery: Delivery) {
        guard let index = requests.index(ofMessageID: delivery.messageID) else { return strangers += 1 }
        deadLetters[index, default: 0] += 1
    }

    mutating func addQueued(_ delivery: Delivery) {
        guard let index = requests.index(ofMessageID: delivery.messageID) else { return strangers += 1 }
        queued[index, default: 0] += 1
    }

    /// Requests with a result.
    var responded: Int { results.count }

    /// Requests without a result, a dead letter or a queued message.
    var lost: [Int] {
        (0..<count).filter { results[$0] == nil && deadLetters[$0] == nil && queued[$0] == nil }
    }

    /// Results beyond the first of each request.
    var duplicateResults: Int {
        results.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
    }

    /// The simulator's view of the requests.
    struct Pushes {
        /// Accepted more than once.
        var duplicates = 0
        /// Sent more than once, whatever the first outcome.
        var repeated = 0
        /// Requests with more than one apns-id, or with a different one in their result.
        var contradictions = 0
    }

    func pushes(_ ledger: RecordedLedger) -> Pushes {
        var pushes = Pushes()
        var accepted: [Int: Int] = [:]
        var seen: [Int: Int] = [:]
        var ids = ids
        for record in ledger.records {
            guard let index = Requests.index(ofDeviceToken: record.deviceToken) else { continue }
            seen[index, default: 0] += 1
            if case .responded(200, _) = record.ending { accepted[index, default: 0] += 1 }
            ids[index, default: []].insert(record.apnsID.description)
        }
        pushes.duplicates = accepted.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
        pushes.repeated = seen.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
        pushes.contradictions = ids.count { $0.value.count > 1 }
        return pushes
    }

    /// The fields of a result that the tests check.
    struct Result: Decodable {
        let apnsID: String?
        let outcome: String
        let attempts: Int

        private enum CodingKeys: String, CodingKey {
            case apnsID = "apns-id"
            case outcome, attempts
        }

        init(_ delivery: Delivery) throws {
            self = try JSONDecoder().decode(Result.self, from: Data(delivery.body))
        }
    }
}
