/// A named decoder with its options.
package struct DecoderDefinition: Sendable, Equatable {
    package enum Options: Sendable, Equatable {
        case mapping(MappingDecoder.Options)
        case cloudevents(CloudEventsDecoder.Options)
        case celery(CeleryDecoder.Options)
        case library(LibraryDecoder.Options)
        case process(ProcessDecoder.Options)
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
