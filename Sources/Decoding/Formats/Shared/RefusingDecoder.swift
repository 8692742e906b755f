package import Core

/// A decoder that throws an error to reject a message.
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
