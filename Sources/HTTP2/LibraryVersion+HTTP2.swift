import CNghttp2
package import Core

extension LibraryVersion {
    /// nghttp2's.
    package static var nghttp2: String {
        // Null only if the minimum that is asked for is newer.
        unsafe nghttp2_version(0).map { unsafe String(cString: $0.pointee.version_str) } ?? ""
    }
}
