package import Core
import System

/// An error that ends the simulator or prevents its start.
package struct SimulatorError: ComponentError {
    package typealias Code = ErrorCode<SimulatorError>

    package let code: Code
    package let message: String
    package let underlying: (any Error)?
    package let isTransient = false

    init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }
}

extension ErrorCode<SimulatorError> {
    /// A script has errors; each is a line of the message, as `file:line:column: text`.
    package static var badScript: Self { Self(rawValue: "badScript") }
    package static var file: Self { Self(rawValue: "file") }
    /// The server's certificate or a key could not be used.
    package static var credential: Self { Self(rawValue: "credential") }
    package static var listener: Self { Self(rawValue: "listener") }
}

package enum TextFile {
    /// Bytes; a script or a key is far smaller.
    static let maximumSize = 16 << 20

    /// - Parameter neighbour: a relative `path` is resolved against this file's folder.
    package static func read(_ path: String, beside neighbour: String? = nil) throws(SimulatorError) -> String {
        let path = neighbour.map { WholeFile.path(path, beside: $0) } ?? path
        do {
            return String(decoding: try WholeFile.read(path, upTo: maximumSize), as: UTF8.self)
        } catch {
            throw SimulatorError(.file, "cannot read \(path): \(error)")
        }
    }
}
