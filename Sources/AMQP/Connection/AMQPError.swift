package import Core

/// Why a connection with the broker ended, or why something was refused before it was sent.
package struct AMQPError: ComponentError {
    /// AMQP's own reply-code names, and a few of ours for what AMQP has no word for.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?
    package let blame: Blame
    package let isTransient: Bool
    /// The reply code, when the broker sent one.
    package let replyCode: UInt16?

    init(
        _ code: Code, _ message: String, blame: Blame, isTransient: Bool, underlying: (any Error)? = nil,
        replyCode: UInt16? = nil
    ) {
        self.code = code
        self.message = message
        self.blame = blame
        self.isTransient = isTransient
        self.underlying = underlying
        self.replyCode = replyCode
    }
}

extension AMQPError.Code {
    /// User, password or permission.
    package static let accessRefused = Self(rawValue: "ACCESS_REFUSED")
    package static let notFound = Self(rawValue: "NOT_FOUND")
    package static let resourceLocked = Self(rawValue: "RESOURCE_LOCKED")
    package static let preconditionFailed = Self(rawValue: "PRECONDITION_FAILED")
    /// Among others: the virtual host does not exist.
    package static let notAllowed = Self(rawValue: "NOT_ALLOWED")
    package static let unexpectedFrame = Self(rawValue: "UNEXPECTED_FRAME")
    /// A delivery was held longer than the broker's `consumer_timeout`.
    package static let consumerTimeout = Self(rawValue: "CONSUMER_TIMEOUT")
    /// The peer speaks another protocol, or another version of this one.
    package static let protocolMismatch = Self(rawValue: "PROTOCOL_MISMATCH")
    /// Bytes that are not AMQP 0-9-1.
    package static let badData = Self(rawValue: "BAD_AMQP_DATA")
    package static let handshakeTimeout = Self(rawValue: "HANDSHAKE_TIMEOUT")
    /// Messages wait, and the broker does not deliver them.
    package static let stalled = Self(rawValue: "STALLED")
    package static let heartbeatTimeout = Self(rawValue: "HEARTBEAT_TIMEOUT")
    package static let transport = Self(rawValue: "TRANSPORT")
    package static let tls = Self(rawValue: "TLS")
    package static let badAddress = Self(rawValue: "BAD_URI")
    package static let shortStringTooLong = Self(rawValue: "SHORT_STRING_TOO_LONG")
    package static let propertiesTooLarge = Self(rawValue: "PROPERTIES_TOO_LARGE")
    package static let badTable = Self(rawValue: "BAD_TABLE")
}

extension AMQPError {
    /// Whether the broker closed a publishing connection because of what was published, so that the same would happen
    /// again: a missing exchange (404), properties that it does not take (406), a body (311), frames (501 to 505), a
    /// direct reply-to that it chokes on (541). Source: AMQP 0-9-1, section 1.2 (constants).
    package var isAboutPublish: Bool {
        switch replyCode {
        case 311, 404, 406, 501, 502, 503, 504, 505, 540, 541: true
        default: false
        }
    }

    /// What `connection.close` or `channel.close` says.
    ///
    /// Source: AMQP 0-9-1, section 1.2 (constants); rabbitmq.com/docs/channels and /docs/consumers
    /// (a consumer timeout is a 406 as well).
    static func closed(replyCode: UInt16, text: String, name: String) -> AMQPError {
        var code = Code(rawValue: name)
        var isTransient = false
        switch replyCode {
        case 320, 405, 506, 541: isTransient = true
        case 406 where text.contains("timed out"):
            code = .consumerTimeout
            isTransient = true
        default: break
        }
        let advice =
            switch replyCode {
            case 403: ": check user, password and permissions"
            case 530: ": check the virtual host and the user's permission for it"
            case 404: ": declare it first"
            default: ""
            }
        let isOurs = (501...505).contains(replyCode)
        return AMQPError(
            code, "the broker says \(replyCode) \(text)\(advice)", blame: isOurs ? .local : .remote,
            isTransient: isTransient, replyCode: replyCode)
    }
}
