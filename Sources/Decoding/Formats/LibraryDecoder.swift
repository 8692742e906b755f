package import Core
package import System

/// `library`: a shared library with a small C interface decodes the messages.
package struct LibraryDecoder: Decoder {
    package struct Options: Equatable, Sendable {
        /// `nil` if the configuration's value is not valid.
        package var file: FilePath?
        /// Options for the library, as the text of a JSON object.
        package var options: String

        package init(file: FilePath?, options: String) {
            self.file = file
            self.options = options
        }
    }

    package let name = "library"
    /// `nil` if it could not be created.
    private let instance: LibraryInstance?

    /// Loads the library: its errors and its check of the options must be reported before the first message.
    ///
    /// - Parameter report: takes the name of an option, and what is wrong with it.
    init(_ options: Options, _ report: (String, String) -> Void) {
        instance = Self.instance(options, report)
    }

    private static func instance(_ options: Options, _ report: (String, String) -> Void) -> LibraryInstance? {
        guard let file = options.file else { return nil }
        guard (try? JSONPart(ArraySlice(options.options.utf8)))?.kind == .object else {
            report("options", "expected the text of a JSON object")
            return nil
        }
        var library: DecoderLibrary?
        do throws(LibraryError) {
            let loaded = try DecoderLibrary(file: file)
            library = loaded
            return try LibraryInstance(loaded, options: options.options)
        } catch {
            for message in error.messages {
                report(library == nil ? "file" : "options", (library.map { "\($0.name): " } ?? "") + message)
            }
            return nil
        }
    }

    /// The delay of a message whose decoder is unavailable.
    private static let pause = Duration.seconds(300)

    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        // The configuration was valid when it was read, so the library has changed since.
        instance?.decode(delivery, at: now) ?? .later(Self.pause)
    }
}
