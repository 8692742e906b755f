package import Core

/// Why a connection to APNs ended or could not be established.
package typealias APNsError = ComponentFailure<APNsConnectionMachine>

extension ErrorCode<APNsError> {
    /// DNS failed, TCP did not connect, or an established transport broke.
    package static var transport: Self { Self(rawValue: "transport") }
    /// The peer closed the transport without sending HTTP/2.
    package static var connectionClosed: Self { Self(rawValue: "connectionClosed") }
    package static var tls: Self { Self(rawValue: "tls") }
    /// The peer refused our certificate in TLS: it is revoked, expired or unknown.
    package static var certificateRefused: Self { Self(rawValue: "certificateRefused") }
    /// ALPN did not agree on `h2`. Source: RFC 9113, section 3.2.
    package static var noHTTP2: Self { Self(rawValue: "noHTTP2") }
    package static var http2: Self { Self(rawValue: "http2") }
    /// TLS or the first SETTINGS took too long.
    package static var handshakeTimeout: Self { Self(rawValue: "handshakeTimeout") }
    /// The peer sent nothing and did not respond to a PING.
    package static var stalled: Self { Self(rawValue: "stalled") }
    /// Streams were still open when the drain deadline passed.
    package static var drainDeadline: Self { Self(rawValue: "drainDeadline") }
    /// APNs sent GOAWAY, and every request it had accepted was answered.
    package static var goaway: Self { Self(rawValue: "goaway") }
}
