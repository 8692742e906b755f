import AMQP
import CRevision
import Core
import HTTP2
import TLS

/// The output of `harebell --version`.
enum VersionReport {
    static var text: String {
        let revision = unsafe String(cString: harebell_revision()).split(separator: " ")
        return """
            harebell \(Version.text)
            \(revision.count == 2 ? "commit \(revision[0]), \(revision[1])" : "commit unknown: not built by make")
            nghttp2 \(LibraryVersion.nghttp2), OpenSSL \(LibraryVersion.openSSL), \
            librabbitmq \(LibraryVersion.librabbitmq)
            """
    }
}
