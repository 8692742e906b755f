package import Core

/// A decoder that throws what is wrong with a message, which rejects it.
package protocol RefusingDecoder: Decoder {
    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded
}

extension RefusingDecoder {
    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        do throws(DecodingFailure) {
            return try decoded(delivery, at: now)
        } catch {
            return .reject(error)
        }
    }
}
