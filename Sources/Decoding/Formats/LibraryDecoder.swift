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
        var instance: LibraryInstance?
        if (try? JSONPart(ArraySlice(options.utf8)))?.kind != .object {
            report("options", "expected the text of a JSON object")
        } else if let file {
            do throws(Complaint) {
                let library = try DecoderLibrary(file: file)
                instance = LibraryInstance(library, options: options) { report("options", "\(library.name): \($0)") }
            } catch {
                report("file", error.message)
            }
        }
        self.instance = instance
    }

    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        // The configuration was valid when it was read, so the library has changed since.
        instance?.decode(delivery, at: now) ?? .later(.seconds(300))
    }
}
