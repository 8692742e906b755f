import Decoding
import Simulator

extension SimulatorStatistics {
    /// The counters, for output.
    var members: [(String, JSONOutput)] {
        let counters = [
            ("connections", connections), ("open", openConnections),
            ("refused", refusedConnections), ("failed", failedConnections), ("requests", requests),
            ("repeated", repeated), ("duplicates", duplicates), ("lost", lost), ("ceded", ceded),
            ("silences", silences), ("resets", resets), ("goaways", goaways), ("cuts", cuts),
            ("token_updates", tokenUpdates), ("pings", pings), ("pongs", pongs), ("priority_frames", priorityFrames),
            ("header_bytes", headerBytes), ("payload_bytes", payloadBytes),
        ]
        let answers = responses.sorted { $0.key < $1.key }.map { ("\($0.key)", JSONOutput.integer($0.value)) }
        let causes = reasons.sorted { $0.key < $1.key }.map { ($0.key, JSONOutput.integer($0.value)) }
        return counters.map { ($0, JSONOutput.integer($1)) }
            + [("answers", JSONOutput.object(answers)), ("reasons", JSONOutput.object(causes))]
    }
}
