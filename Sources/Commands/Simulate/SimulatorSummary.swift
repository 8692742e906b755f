import Decoding
import Simulator

/// The counters of a simulator, as text or JSON.
struct SimulatorSummary {
    private typealias Counter = (key: String, count: Int)

    /// Related counters share a line.
    private let counters: [[Counter]]
    private let responses: [Counter]
    private let reasons: [Counter]

    init(_ seen: SimulatorStatistics) {
        counters = [
            [
                ("connections", seen.connections), ("open", seen.openConnections), ("resumed", seen.resumedConnections),
                ("refused", seen.refusedConnections), ("failed", seen.failedConnections),
            ],
            [
                ("requests", seen.requests), ("repeated", seen.repeated), ("duplicates", seen.duplicates),
                ("lost", seen.lost), ("ceded", seen.ceded),
            ],
            [("silences", seen.silences), ("resets", seen.resets), ("goaways", seen.goaways), ("cuts", seen.cuts)],
            [
                ("token_updates", seen.tokenUpdates), ("pings", seen.pings), ("pongs", seen.pongs),
                ("priority_frames", seen.priorityFrames), ("wrongly_indexed_headers", seen.wronglyIndexedHeaders),
            ],
            [("header_bytes", seen.headerBytes), ("payload_bytes", seen.payloadBytes)],
        ]
        responses = seen.responses.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
        reasons = seen.reasons.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var lines: [String] {
        func list(_ group: [Counter], _ sign: String) -> String {
            group.map { "\($0.count)\(sign)\($0.key.replacing("_", with: " "))" }.joined(separator: ", ")
        }
        let responses = ["answers: \(list(responses, " × "))", "reasons: \(list(reasons, " × "))"]
        return counters.map { list($0, " ") } + responses
    }

    var json: String {
        func members(_ group: [Counter]) -> [(String, JSONOutput)] {
            group.map { ($0.key, .integer($0.count)) }
        }
        return JSONOutput.text(
            of: counters.flatMap(members) + [
                ("answers", .object(members(responses))), ("reasons", .object(members(reasons))),
            ])
    }
}
