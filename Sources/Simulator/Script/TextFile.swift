import System

enum TextFile {
    /// Bytes; a script or a key is far smaller.
    static let maximumSize = 16 << 20

    /// - Parameter neighbour: a relative `path` is resolved against this file's folder.
    static func read(_ path: String, beside neighbour: String? = nil) throws(SimulatorError) -> String {
        let path = neighbour.map { WholeFile.path(path, beside: $0) } ?? path
        do {
            return String(decoding: try WholeFile.read(path, upTo: maximumSize), as: UTF8.self)
        } catch {
            switch error {
            case .system, .notRegular: throw SimulatorError(.file, "cannot read \(path): \(error)")
            case .tooLarge: throw SimulatorError(.file, "\(path) is larger than \(maximumSize >> 20) MiB")
            }
        }
    }

    /// Replaces the file, readable by everyone.
    static func write(_ text: String, to path: String) throws(SimulatorError) {
        do {
            try WholeFile.write(text.utf8, to: path)
        } catch {
            throw SimulatorError(.file, "cannot write \(path): \(error)")
        }
    }
}
