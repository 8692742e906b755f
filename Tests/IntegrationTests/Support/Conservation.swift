import AMQP
import Core
import Foundation
import Simulator
import TestSupport
import Testing

/// What became of each request of a load, and how often it came to that.
struct Conservation {
    let count: Int
    /// Requests that may stand in their queue twice, because the publisher could not know: they are counted as present,
    /// but not as duplicates.
    var repeated: Set<Int> = []
    private(set) var results: [Int: Int] = [:]
    private(set) var outcomes: [String: Int] = [:]
    private(set) var deadLetters: [Int: Int] = [:]
    private(set) var queued: [Int: Int] = [:]
    /// Messages that belong to no request of the load.
    private(set) var strangers = 0
    /// Of each request: every apns-id that a result gave it.
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
    var answered: Int { results.count }

    /// Requests that are nowhere any more.
    var lost: [Int] {
        (0..<count).filter { results[$0] == nil && deadLetters[$0] == nil && queued[$0] == nil }
    }

    /// Results beyond the first of each request.
    var duplicateResults: Int {
        results.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
    }

    /// What the simulator saw of the requests.
    struct Pushes {
        /// Accepted although accepted before.
        var duplicates = 0
        /// Sent again, whatever became of the first time.
        var repeated = 0
        /// Requests that came with more than one apns-id, or with another one than their result says.
        var contradictions = 0
    }

    func pushes(_ ledger: SimulatorLedger) -> Pushes {
        var pushes = Pushes()
        var accepted: [Int: Int] = [:]
        var seen: [Int: Int] = [:]
        var ids = ids
        for record in ledger.records {
            guard let index = Requests.index(ofDeviceToken: record.deviceToken) else { continue }
            seen[index, default: 0] += 1
            if case .answered(200, _) = record.ending { accepted[index, default: 0] += 1 }
            ids[index, default: []].insert(record.apnsID.description)
        }
        pushes.duplicates = accepted.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
        pushes.repeated = seen.filter { !repeated.contains($0.key) }.reduce(0) { $0 + $1.value - 1 }
        pushes.contradictions = ids.count { $0.value.count > 1 }
        return pushes
    }

    /// The parts of a result that the tests look at.
    struct Result: Decodable {
        let apnsID: String?
        let outcome: String
        let status: Int?
        let reason: String?
        let action: String
        let attempts: Int
        let processed: String
        let messageID: String?
        let detail: String?

        private enum CodingKeys: String, CodingKey {
            case apnsID = "apns-id"
            case outcome, status, reason, action, attempts, processed, detail
            case messageID = "message-id"
        }

        init(_ delivery: Delivery) throws {
            self = try JSONDecoder().decode(Result.self, from: Data(delivery.body))
        }
    }
}
