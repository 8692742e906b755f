package import Core
import System

/// `library`: a shared library with a small C interface decodes the messages.
package struct LibraryDecoder: Decoder {
    /// `nil` if it could not be created.
    private let instance: LibraryInstance?

    /// Loads the library: its errors and its check of the options must be reported before the first message.
    ///
    /// - Parameter report: takes the name of an option, and what is wrong with it.
    init(_ file: FilePath?, _ options: String, _ report: (String, String) -> Void) {
        instance = file.flatMap { Self.instance($0, options, report) }
    }

    private static func instance(
        _ file: FilePath, _ options: String, _ report: (String, String) -> Void
    ) -> LibraryInstance? {
        guard (try? JSONPart(ArraySlice(options.utf8)))?.kind == .object else {
            report("options", "expected the text of a JSON object")
            return nil
        }
        do throws(Complaint) {
            let library = try DecoderLibrary(file: file)
            return LibraryInstance(library, options: options) { report("options", "\(library.name): \($0)") }
        } catch {
            report("file", error.message)
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
