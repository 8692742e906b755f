package import Core
import System

package enum TextFile {
    /// - Parameter neighbour: a relative `path` is resolved against this file's folder.
    package static func read(_ path: String, beside neighbour: String? = nil) throws(Complaint) -> String {
        let path = neighbour.map { WholeFile.path(path, beside: $0) } ?? path
        do {
            // Bytes; a script or a key is far smaller.
            return String(decoding: try WholeFile.read(path, upTo: 16 << 20), as: UTF8.self)
        } catch {
            throw Complaint("cannot read \(path): \(error)")
        }
    }
}
