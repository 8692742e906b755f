import Core
import Settings
import System

/// `library`: a shared library with a small C interface decodes the messages.
struct LibraryDecoder: RefusingDecoder {
    let name = "library"
    /// `nil` if it could not be created.
    private let instance: LibraryInstance?

    static let format = DecoderFormat(
        "library", version: "1.0.0", "Any format, decoded by a shared library.",
        [
            Setting(
                "file", .file, default: nil,
                "The library; only root and the worker's user may be able to write to it or its folder."
            ),
            Setting(
                "options", .text(bytes: 2...65536), default: "\"{}\"",
                "Options for the library, as the text of a JSON object."),
        ]
    ) { options in LibraryDecoder(&options) }

    /// Loads the library, although a format should not read files: its errors and its check of the options must be
    /// reported before the first message.
    private init(_ options: inout DecoderOptions) {
        instance = Self.instance(&options)
    }

    private static func instance(_ options: inout DecoderOptions) -> LibraryInstance? {
        guard let file = options.text("file"), let text = options.text("options") else {
            if options.text("file") == nil { options.report("file", "expected the path of a shared library") }
            return nil
        }
        guard (try? JSONPart(ArraySlice(text.utf8)))?.kind == .object else {
            options.report("options", "expected the text of a JSON object")
            return nil
        }
        let library: DecoderLibrary
        do throws(LibraryError) {
            library = try DecoderLibrary(file: FilePath(file, shownAs: options.values.written("file")))
        } catch {
            options.report("file", error.message)
            return nil
        }
        do throws(LibraryProblems) {
            return try LibraryInstance(library, options: text)
        } catch {
            for message in error.messages { options.report("options", "\(library.name): \(message)") }
            return nil
        }
    }

    /// The delay of a message whose decoder is unavailable.
    private static let pause = Duration.seconds(300)

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        // The configuration was valid when it was read, so the library has changed since.
        guard let instance else { return .later(Self.pause) }
        return try instance.decode(delivery, at: now)
    }
}
