import SwiftProtobuf

/// Why bytes are no message of protobuf.
package struct XorcFailure: Error {
    /// What is wrong with them, to stand behind the name of what they are.
    package let reason: String

    init(_ error: any Error) {
        reason =
            switch error as? BinaryDecodingError {
            case .truncated: "it ends too early"
            case .invalidUTF8: "a text that is not UTF-8"
            case .messageDepthLimit: "more than \(XorcPushNotification.maximumDepth) messages around a field"
            default: "a field that is none"
            }
    }
}

extension XorcPushNotification {
    /// More messages, or groups, around a field than this are refused: theirs are at most three.
    package static let maximumDepth = 16

    /// - Parameters:
    ///   - body: read once, in time and memory proportional to its size.
    ///   - keepsUnknown: whether fields that are unknown here are written again with the rest.
    package init(reading body: ArraySlice<UInt8>, keepsUnknown: Bool = false) throws(XorcFailure) {
        var options = BinaryDecodingOptions()
        options.messageDepthLimit = Self.maximumDepth
        options.discardUnknownFields = !keepsUnknown
        do {
            try unsafe self.init(serializedBytes: body.span.bytes, options: options)
        } catch {
            throw XorcFailure(error)
        }
    }
}

extension XorcPushResult {
    /// As it goes over the wire: the same for the same result.
    package var bytes: [UInt8] {
        var options = BinaryEncodingOptions()
        // A dictionary has another order in each process.
        options.useDeterministicOrdering = true
        do {
            return try serializedBytes(options: options)
        } catch {
            preconditionFailure("nothing is required of it, and it is far from 2 GiB: \(error)")
        }
    }
}
