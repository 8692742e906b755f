import COpenSSL
package import Core
import Glibc

/// OpenSSL's error queue of this thread.
///
/// Every failed call leaves its reasons there, and `SSL_get_error` reads them. A leftover reason would be attributed
/// to a later call on another connection. So a failure handler takes the complete queue, and the queue is cleared
/// before each call that `SSL_get_error` explains.
enum ErrorQueue {
    /// The reason of a failed call, in OpenSSL's words.
    struct Entry {
        var library: Int32
        var reason: Int32
        var text: String

        fileprivate init(packed: UInt) {
            library = ERR_GET_LIB(packed)
            reason = ERR_GET_REASON(packed)
            if let known = unsafe ERR_reason_error_string(packed) {
                text = unsafe String(cString: known)
            } else {
                text = library == ERR_LIB_SYS ? unsafe String(cString: strerror(reason)) : "error \(reason)"
            }
        }
    }

    static func clear() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Empties the queue and returns the most useful entry: the oldest, which caused the later ones. Entries of the
    /// library `favourite` take precedence.
    static func take(favouring favourite: Int32? = nil) -> Entry? {
        var chosen: UInt = 0
        while true {
            let packed = ERR_get_error()
            guard packed != 0 else { break }
            let isBetter = ERR_GET_LIB(packed) == favourite && ERR_GET_LIB(chosen) != favourite
            if chosen == 0 || isBetter { chosen = packed }
        }
        return chosen == 0 ? nil : Entry(packed: chosen)
    }
}

extension LibraryVersion {
    package static var openSSL: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
