import Core
import Settings
import System

/// `library`: a shared library behind a small C interface reads the messages.
struct LibraryDecoder: RefusingDecoder {
    let name = "library"
    /// `nil` where none could be made.
    private let instance: LibraryInstance?

    static let format = DecoderFormat(
        "library", version: "1.0.0", "Any format: a shared library reads it.",
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

    /// Loads the library, which a format that looks at no file would not do: what is wrong with it, and what it says of
    /// its options, is to be told before the first message.
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

    /// How long a message waits for a decoder that is not there.
    private static let pause = Duration.seconds(300)

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        // The configuration was right when it was read, so somebody changed the library since.
        guard let instance else { return .later(Self.pause) }
        return try instance.decode(delivery, at: now)
    }
}
