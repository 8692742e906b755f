package import Core
package import Decoding
package import Logging
package import System

/// The content of a configuration file, with all defaults applied. Paths are absolute or relative to the working
/// folder. All values have been validated, and the worker relies on that.
///
/// ``Schema`` defines the keys, their defaults and ranges. It is flat because each property is one top-level key of
/// the file.
package struct Configuration: Sendable, Equatable {
    package var broker: Broker
    /// At least one; names are unique.
    package var queues: [Queue]
    /// Names are unique.
    package var decoders: [DecoderDefinition] = []
    package var results: Results
    /// An additional destination for `unregistered` results; `nil` for none.
    package var feedback: Route?
    package var deadLetter: Route
    package var retry: Retry
    package var apns: APNs
    /// At least one; unique by topic and environment.
    package var apps: [App]
    /// Event-loop threads, at least 1.
    package var workers: Int
    package var drainDeadline: Duration
    /// How long a worker holds requests that wait for a paused app or for APNs.
    package var hold: Duration
    /// `nil` turns the admin server off.
    package var admin: Admin?
    /// `nil` turns tracing off.
    package var tracing: Tracing?
    package var log: Log
}

extension Configuration {
    package struct Broker: Sendable, Equatable {
        /// `amqp` or `amqps` URIs, at least one; more than one for failover. Secret because of their passwords.
        package var endpoints: [Secret]
        /// Replaces the password in every endpoint.
        package var password: Secret?
        /// Where ``password`` is read from, now and again.
        package var passwordFile: FilePath?
        package var tls: TLSFiles
        package var heartbeat: Duration
        /// The maximum body size of a delivery, in bytes. Larger ones are refused without being buffered.
        package var maximumMessage: Int
    }

    /// PEM files for a TLS connection; `nil` if not configured.
    package struct TLSFiles: Sendable, Equatable {
        /// A CA bundle to use instead of the system's.
        package var caFile: FilePath?
        package var certificateFile: FilePath?
        package var privateKeyFile: FilePath?
        /// The name to verify instead of the endpoint's host.
        package var serverName: String?
    }

    package struct Queue: Sendable, Equatable {
        package var name: String
        /// A format, or the name of one of ``decoders``.
        package var decoder: String
        package var prefetch: UInt16
        /// `x-single-active-consumer`: the broker delivers to one consumer at a time.
        package var isSingleActive = false
        /// `x-priority` of the consumers; `nil` for the broker's default.
        package var consumerPriority: Int?
        /// Limits the request rate of each worker thread; `nil` for no limit.
        package var rateLimit: RateLimit?
    }

    /// A token bucket.
    package struct RateLimit: Sendable, Equatable {
        package var perSecond: Int
        package var burst: Int
    }

    /// A destination for publishing: exchange and routing key; "" is the default exchange.
    package struct Route: Sendable, Equatable {
        package var exchange: String
        package var routingKey: String
    }

    /// The destination of results without a reply queue, or refused by it.
    package struct Results: Sendable, Equatable {
        package enum Publish: String, Sendable, CaseIterable {
            case all, failures, none
        }

        /// The content of one message.
        package enum Per: String, Sendable, CaseIterable {
            /// One result.
            case notification
            /// An array of all results of a request.
            case request
        }

        /// `nil` for none.
        package var route: Route?
        package var publish: Publish
        package var per = Per.notification
    }

    package struct Retry: Sendable, Equatable {
        /// For 5xx: one retry queue per delay. A request uses the next one each time it is parked; the last one
        /// repeats. At least one.
        package var delays: [Duration]
        /// For 429 of one device; the same rules.
        package var throttledDelays: [Duration]
        package var maximumAttempts: Int

        /// All distinct delays: the retry queues of each request queue.
        package var levels: [Duration] {
            Set(delays + throttledDelays).sorted()
        }
    }

    package struct APNs: Sendable, Equatable {
        /// Connections per app credential and worker thread.
        package var connections: ClosedRange<Int>
        /// Permits per second of each connection.
        package var permitsPerSecond: Int
        package var burst: Int
        package var requestTimeout: Duration
        package var pingIdle: Duration
        /// The proxy for all connections to APNs; `nil` for none.
        package var proxy: ProxyAddress?
        /// The share of refused device tokens that pauses their app; `nil` for never.
        package var badTokenPause: TokenRefusalShare.Limit?
    }

    package struct App: Sendable, Equatable {
        package var topic: String
        package var environment: Environment
        /// Apple's by default.
        package var endpoint: Endpoint
        /// For channel management. Apple has other hosts for it; any other server serves it on the same port.
        package var managementEndpoint: Endpoint
        /// A CA bundle to use instead of the system's.
        package var caFile: FilePath?
        package var credential: Credential
    }

    package enum Credential: Sendable, Hashable {
        /// Provider tokens, signed by the P-256 key in `keyFile` (PKCS #8 PEM, Apple's `.p8`).
        case token(keyFile: FilePath, keyID: String, teamID: String)
        case pem(certificateFile: FilePath, privateKeyFile: FilePath)
        case p12(file: FilePath, password: Secret?)
    }

    package struct Admin: Sendable, Equatable {
        /// A numeric address and port; port 0 takes a free one.
        package var listen: Endpoint
        /// The token for `Authorization: Bearer`; `nil` allows every client.
        package var token: Secret?
        package var readyWhen = ReadyWhen.any

        /// How many apps must be usable before the process is ready.
        package enum ReadyWhen: String, Sendable, CaseIterable {
            case any, all
        }
    }

    /// Where spans go, and of how many requests.
    package struct Tracing: Sendable, Equatable {
        package var endpoint: Endpoint
        package var usesTLS: Bool
        /// Of the requests without a parent, 0 to 1.
        package var sampleRatio: Double

        package init(endpoint: Endpoint, usesTLS: Bool, sampleRatio: Double) {
            self.endpoint = endpoint
            self.usesTLS = usesTLS
            self.sampleRatio = sampleRatio
        }
    }

    package struct Log: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable {
            case text, json
        }

        package var level: Logger.Level
        package var format: Format
        /// Whether `dead-letters show` prints bodies and complete device tokens.
        package var showPayloads: Bool
    }
}
