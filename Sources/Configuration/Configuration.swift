package import Core
package import Decoding
package import Logging
package import System

/// What one configuration file says, with every default filled in and every path made absolute or relative to the
/// working folder. Ranges have been checked: the worker trusts every value here.
///
/// The keys, their defaults and ranges stand in ``Schema``. It is flat because each property is one top-level key of
/// the file; ``registry`` alone is not read from it.
package struct Configuration: Sendable, Equatable {
    package var broker: Broker
    /// At least one; names are unique.
    package var queues: [Queue]
    /// Names are unique.
    package var decoders: [DecoderDefinition] = []
    /// The formats that they may have.
    package var registry = DecoderRegistry.builtIn
    package var results: Results
    /// Where `unregistered` results are published as well; `nil` for nowhere.
    package var feedback: Route?
    package var deadLetter: Route
    package var retry: Retry
    package var apns: APNs
    /// At least one; unique by topic and environment.
    package var apps: [App]
    /// Event-loop threads, at least 1.
    package var workers: Int
    package var drainDeadline: Duration
    /// How often the configuration's files are looked at for changes; `nil` for never.
    package var reloadInterval: Duration?
    /// How long a worker holds what waits for a paused app, or for APNs.
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
        /// Takes the place of the password in every endpoint.
        package var password: Secret?
        /// Where ``password`` is read from, now and again.
        package var passwordFile: FilePath?
        package var tls: TLSFiles
        package var heartbeat: Duration
        package var connectTimeout: Duration
        /// A delivery with a larger body, in bytes, is refused without being buffered.
        package var maximumMessage: Int
        /// How often a message may have been delivered in vain before it is given up without a look into it.
        package var poisonDeliveries: Int
    }

    /// PEM files for a TLS connection; each is `nil` where the file names none.
    package struct TLSFiles: Sendable, Equatable {
        /// A bundle to trust instead of the system's.
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
        package var resultFormat = ResultFormat.harebell
        package var prefetch: UInt16
        /// `x-single-active-consumer`: the broker gives everything to one consumer at a time.
        package var isSingleActive = false
        /// Limits how fast a worker thread sends its requests; `nil` for no limit.
        package var rateLimit: RateLimit?
    }

    /// A token bucket.
    package struct RateLimit: Sendable, Equatable {
        package var perSecond: Int
        package var burst: Int

        package init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// What the bodies of results are.
    package enum ResultFormat: String, Sendable, CaseIterable {
        /// Our own JSON.
        case harebell
        /// The feedback that gorush sends.
        case gorush
        /// Events of CloudEvents whose data is our own JSON.
        case cloudevents
    }

    /// Where a message is published to: a routing key of an exchange, where "" is the default exchange.
    package struct Route: Sendable, Equatable {
        package var exchange: String
        package var routingKey: String
    }

    /// Where results go that have no reply queue, or whose reply queue refuses them.
    package struct Results: Sendable, Equatable {
        package enum Publish: String, Sendable, CaseIterable {
            case all, failures, none
        }

        /// What one message holds.
        package enum Per: String, Sendable, CaseIterable {
            /// One result.
            case notification
            /// An array of the results of a request.
            case request
        }

        /// `nil` for nowhere.
        package var route: Route?
        package var publish: Publish
        package var per = Per.notification
        /// How long a reply queue may refuse a result before it goes elsewhere.
        package var refused = Duration.seconds(30)
    }

    package struct Retry: Sendable, Equatable {
        /// For 5xx: one retry queue each; a request takes the next one each time that it is parked, and the last one
        /// repeats. At least one.
        package var delays: [Duration]
        /// For 429 of one device, likewise.
        package var throttledDelays: [Duration]
        package var maximumAttempts: Int

        /// Every delay once: the retry queues that each request queue has.
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
        package var connectTimeout: Duration
        /// How long APNs may be silent while requests wait for answers, before a PING.
        package var stallLimit: Duration
        /// Connects of one pool within any minute.
        package var connectsPerMinute: Int
        /// How long a connection was not needed when it is closed.
        package var surplusTime: Duration
        /// How long a device is left alone after 429 `TooManyRequests`.
        package var deviceSpacing: Duration
        /// Whether a connection sends slower while much of what it sends is refused.
        package var slowsOnErrors: Bool
        /// The address of this host, in digits, that connections go out from; `nil` leaves it to the kernel.
        package var bindAddress: String?
        package var validate: PayloadValidation
        /// When refused device tokens pause their app; `nil` for never.
        package var badTokenPause: TokenRefusalShare.Limit?
    }

    /// What becomes of a payload that does not keep to Apple's tables.
    package enum PayloadValidation: String, Sendable, CaseIterable {
        /// It is not looked at.
        case off
        /// It is sent, and its result says what was found.
        case warn
        /// It is `invalid`.
        case strict
    }

    package struct App: Sendable, Equatable {
        package var topic: String
        package var environment: Environment
        /// Apple's, unless the configuration names another.
        package var endpoint: Endpoint
        /// For broadcasts; ``endpoint`` unless the configuration names another.
        package var broadcastEndpoint: Endpoint
        /// For channel management; Apple's, or ``endpoint`` where the configuration names that one, unless it names
        /// another.
        package var managementEndpoint: Endpoint
        /// A bundle to trust instead of the system's.
        package var caFile: FilePath?
        /// Which way its connections go.
        package var proxy: ProxyRoute
        package var credential: Credential
    }

    package enum Credential: Sendable, Hashable {
        /// Provider tokens, signed by the P-256 key in `keyFile` (PKCS #8 PEM, Apple's `.p8`).
        case token(keyFile: FilePath, keyID: String, teamID: String)
        case certificate(CertificateFiles)
    }

    package enum CertificateFiles: Sendable, Hashable {
        case pem(certificateFile: FilePath, privateKeyFile: FilePath)
        case p12(file: FilePath, password: Secret?)
    }

    package struct Admin: Sendable, Equatable {
        /// A numeric address and port; port 0 takes a free one.
        package var listen: Endpoint
        /// What `Authorization: Bearer` must carry; `nil` lets everyone in.
        package var token: Secret?
        package var readyWhen = ReadyWhen.any

        /// How many apps have to be usable for the process to be ready.
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
        /// Whether debug messages may contain payloads.
        package var showPayloads: Bool
    }
}

extension Configuration.APNs {
    /// How long APNs may leave bytes without TCP's acknowledgement: the peer, or the way to it, is gone. Later than the
    /// PING that asks after requests without an answer, so that this only ends what nobody waits for.
    private static let unacknowledgedTime = Duration.seconds(20)

    /// The options of the sockets that go to APNs.
    package var socketOptions: SocketOptions {
        SocketOptions(unacknowledgedTime: Self.unacknowledgedTime, localAddress: bindAddress)
    }
}
