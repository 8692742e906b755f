package import Core

/// Why a connection to the broker ended, or why a request was rejected before sending.
package struct AMQPError: ComponentError {
    /// AMQP's reply-code names, and a few of ours for conditions that AMQP does not name.
    package typealias Code = ErrorCode<AMQPError>

    package let code: Code
    package let message: String
    package let underlying: (any Error)?
    package let isTransient: Bool
    /// The broker's reply code, if it sent one.
    package let replyCode: UInt16?

    init(
        _ code: Code, _ message: String, isTransient: Bool = true, underlying: (any Error)? = nil,
        replyCode: UInt16? = nil
    ) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.underlying = underlying
        self.replyCode = replyCode
    }
}

extension ErrorCode<AMQPError> {
    /// User, password or permission.
    package static var accessRefused: Self { Self(rawValue: "ACCESS_REFUSED") }
    /// A password for a connection that was open.
    package static var secretRefused: Self { Self(rawValue: "SECRET_REFUSED") }
    package static var notFound: Self { Self(rawValue: "NOT_FOUND") }
    package static var resourceLocked: Self { Self(rawValue: "RESOURCE_LOCKED") }
    package static var preconditionFailed: Self { Self(rawValue: "PRECONDITION_FAILED") }
    /// Among others: the virtual host does not exist.
    package static var notAllowed: Self { Self(rawValue: "NOT_ALLOWED") }
    package static var unexpectedFrame: Self { Self(rawValue: "UNEXPECTED_FRAME") }
    /// A delivery was held longer than the broker's `consumer_timeout`.
    package static var consumerTimeout: Self { Self(rawValue: "CONSUMER_TIMEOUT") }
    package static var consumerCancelled: Self { Self(rawValue: "CONSUMER_CANCELLED") }
    /// The peer speaks another protocol, or another version of this one.
    package static var protocolMismatch: Self { Self(rawValue: "PROTOCOL_MISMATCH") }
    /// Bytes that are not AMQP 0-9-1.
    package static var badData: Self { Self(rawValue: "BAD_AMQP_DATA") }
    package static var handshakeTimeout: Self { Self(rawValue: "HANDSHAKE_TIMEOUT") }
    /// Messages wait, but the broker does not deliver them.
    package static var stalled: Self { Self(rawValue: "STALLED") }
    package static var heartbeatTimeout: Self { Self(rawValue: "HEARTBEAT_TIMEOUT") }
    package static var transport: Self { Self(rawValue: "TRANSPORT") }
    package static var tls: Self { Self(rawValue: "TLS") }
    package static var badAddress: Self { Self(rawValue: "BAD_URI") }
    package static var shortStringTooLong: Self { Self(rawValue: "SHORT_STRING_TOO_LONG") }
    package static var propertiesTooLarge: Self { Self(rawValue: "PROPERTIES_TOO_LARGE") }
    package static var badTable: Self { Self(rawValue: "BAD_TABLE") }
}

extension AMQPError {
    /// Whether the broker closed a publishing connection because of a publication, so that republishing would fail
    /// again. The causes: a missing exchange (404), invalid properties (406), a body (311), frames (501 to 505), a
    /// direct reply-to that it cannot handle (541). Source: AMQP 0-9-1, section 1.2 (constants).
    ///
    /// A transient 406 is about the broker's resources.
    package var isAboutPublish: Bool {
        switch replyCode {
        case 406: !isTransient
        case 311, 404, 501, 502, 503, 504, 505, 540, 541: true
        default: false
        }
    }

    /// Whether the broker may have closed the connection because of this publication. A missing permission for the
    /// default exchange is about all of them.
    package func blames(_ publication: borrowing Publication) -> Bool {
        isAboutPublish || replyCode == 403 && !publication.exchange.isEmpty
    }

    /// Whether every publication to the same exchange fails.
    package var isAboutDestination: Bool { replyCode == 404 || replyCode == 403 }

    /// Whether only an operator or other clients can remove the cause: frequent attempts would not help.
    var needsPatience: Bool { !isTransient || replyCode == 530 }

    /// The broker's `consumer_timeout`, if it closed a channel because of it: `… Timeout value used: 60000 ms. …`
    package var consumerTimeout: Duration? {
        guard code == .consumerTimeout else { return nil }
        let words = message.split(separator: " ")
        guard let place = words.firstIndex(of: "used:"), place + 2 < words.count, words[place + 2].hasPrefix("ms"),
            let milliseconds = Int64(words[place + 1]), milliseconds > 0
        else { return nil }
        return .milliseconds(milliseconds)
    }

    static let consumerCancelled = AMQPError(
        .consumerCancelled,
        "the broker cancelled the consumer: the queue was deleted, or a delivery was held for its delivery timeout")

    /// The login of the next connection shows whether the password is valid there.
    static func secretRefused(_ error: AMQPError) -> AMQPError {
        AMQPError(
            .secretRefused, "the broker refused the new password: check broker.password_file", underlying: error,
            replyCode: error.replyCode)
    }

    /// The error for a `connection.close` or `channel.close`.
    ///
    /// Source: AMQP 0-9-1, section 1.2 (constants); rabbitmq.com/docs/channels and /docs/consumers (a consumer timeout
    /// is a 406 as well, an exclusive consumer of the queue a 403).
    static func closed(replyCode: UInt16, text: String, name: String) -> AMQPError {
        var code = Code(rawValue: name)
        var isTransient = false
        switch replyCode {
        case 320, 405, 506, 541: isTransient = true
        // RabbitMQ's text, and LavinMQ's.
        case 406 where text.contains("timed out") || text.contains("consumer timeout"):
            code = .consumerTimeout
            isTransient = true
        case 406 where text.contains("low on "),
            530 where text.contains("limit"):
            isTransient = true
        default: break
        }
        let advice =
            switch replyCode {
            case 403 where text.contains("in exclusive use"): ": stop the other consumer of the queue"
            case 403: ": check user, password and permissions"
            case 530 where isTransient:
                ": raise the limit of the user or of the virtual host, or close other connections"
            case 530: ": check the virtual host and the user's permission for it"
            case 404: ": declare it first"
            default: ""
            }
        return AMQPError(
            code, "the broker says \(replyCode) \(text)\(advice)", isTransient: isTransient, replyCode: replyCode)
    }
}
