package import System

package struct DecoderDefinition: Sendable, Equatable {
    package enum Options: Sendable, Equatable {
        case mapping(MappingDecoder.Options)
        /// - Parameters:
        ///   - decoder: the name of the decoder of the data.
        ///   - types: only events of these types are requests; empty for all types.
        case cloudevents(decoder: String, types: [String])
        case celery(CeleryDecoder.Options)
        /// - Parameters:
        ///   - file: `nil` if the configuration's value is not valid.
        ///   - options: for the library, as the text of a JSON object.
        case library(file: FilePath?, options: String)
        case process(ProcessDecoder.Options)

        /// The names of the decoders that it contains, with the paths of the options.
        var inner: [(name: String, path: String)] {
            switch self {
            case .cloudevents(let decoder, _): [(decoder, "decoder")]
            case .celery(let options): options.tasks.enumerated().map { ($1.decoder, "tasks[\($0)].decoder") }
            case .mapping, .library, .process: []
            }
        }
    }

    package var name: String
    package var options: Options

    package init(name: String, _ options: Options) {
        self.name = name
        self.options = options
    }
}

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
    package static let replacement = "use a mapping, see docs/start/migrating.md"
}
