package struct DecoderDefinition: Sendable, Equatable {
    package enum Options: Sendable, Equatable {
        case mapping(MappingDecoder.Options)
        case cloudevents(CloudEventsDecoder.Options)
        case celery(CeleryDecoder.Options)
        case library(LibraryDecoder.Options)
        case process(ProcessDecoder.Options)

        /// The names of the decoders that it contains, with the paths of the options.
        var inner: [(name: String, path: String)] {
            switch self {
            case .cloudevents(let options): [(options.decoder, "decoder")]
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

/// Why the text of an option is not valid.
package struct InvalidOption: Error {
    package let message: String
}
