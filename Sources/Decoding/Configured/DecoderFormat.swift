/// A message format by its name: the value of `queues[].decoder`, and the name of its options section in `decoders`.
package enum DecoderFormat: String, CaseIterable, Sendable {
    case auto
    case apnsJSON = "apns-json"
    case apnsHeaders = "apns-headers"
    case mapping, cloudevents, celery, library, process

    /// The semantic version of every format's output. The major version changes when the same message is decoded
    /// differently.
    package static let version = "1.0.0"

    /// The formats with options, which therefore have a section in `decoders[]`.
    package static let sections: [DecoderFormat] = [.mapping, .cloudevents, .celery, .library, .process]

    /// The formats of earlier releases.
    package static let removed = ["fcm-v1", "gorush", "node-apn", "pushy", "rpush", "sns"]
    /// What to do instead of using one of them.
    package static let replacement = "use a mapping, see docs/start/migrating.md"
}
