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
            let isObject = (try? JSONPart(delivery.body))?.kind == .object
            return .reject(isObject ? error : error.naming(delivery.contentType))
        }
    }
}

extension DecodingFailure {
    /// The same failure with the content type of the message, unless that is missing or the one of a request.
    func naming(_ contentType: ArraySlice<UInt8>?) -> DecodingFailure {
        guard let contentType, !contentType.isEmpty, !ContentType(contentType).isOurs,
            !detail.contains("content-type: ")
        else { return self }
        var failure = self
        failure.detail += "; content-type: \(RequestFields.quoted(contentType)), expected application/json"
        return failure
    }
}
