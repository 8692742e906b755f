import CNghttp2
package import Core

extension LibraryVersion {
    /// The version of nghttp2.
    package static var nghttp2: String {
        // Null only if the requested minimum is newer.
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? ""
    }
}
