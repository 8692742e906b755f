import Core
import XorcMessages

/// A result as the xorc events tell it: what the producer should do, with the header of its request.
///
/// Sources: xray-tech/xorc-events, `notification/push_result.proto`; xray-tech/xorc-notifications, `src/apns2/producer.rs`.
enum XorcResult {
    static let contentType = ArraySlice("application/x-protobuf".utf8)

    static func bytes(_ report: Report, of delivery: Delivery) -> [UInt8] {
        var response = XorcResponse()
        response.request = header(of: delivery)
        response.type = "notification.PushResult"
        var result = XorcPushResult()
        result.header = response
        result.responseAction = action(report.outcome)
        return result.bytes
    }

    /// As it stands in the message; of one that is no push request what AMQP says of it.
    private static func header(of delivery: Delivery) -> XorcRequest {
        do throws(XorcFailure) {
            let header = try XorcPushNotification(reading: delivery.body, keepsUnknown: true).header
            if header.hasType { return header }
        } catch {
            // What it is has been told as the outcome.
        }
        var header = XorcRequest()
        header.type = XorcDecoder.type
        if let id = delivery.correlationID ?? delivery.messageID {
            header.correlationID = String(decoding: id, as: UTF8.self)
        }
        return header
    }

    /// They have no word for a request that has to be mended.
    private static func action(_ outcome: Outcome) -> XorcPushResult.ResponseAction {
        switch outcome {
        case .accepted, .expired, .rejected, .invalid: .none
        case .unregistered: .unsubscribeEntity
        case .undelivered: .retry
        }
    }
}
