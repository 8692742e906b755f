package import Core
import System

package enum TextFile {
    /// Bytes; a script or a key is far smaller.
    static let maximumSize = 16 << 20

    /// - Parameter neighbour: a relative `path` is resolved against this file's folder.
    package static func read(_ path: String, beside neighbour: String? = nil) throws(Complaint) -> String {
        let path = neighbour.map { WholeFile.path(path, beside: $0) } ?? path
        do {
            return String(decoding: try WholeFile.read(path, upTo: maximumSize), as: UTF8.self)
        } catch {
            throw Complaint("cannot read \(path): \(error)")
        }
    }
}
