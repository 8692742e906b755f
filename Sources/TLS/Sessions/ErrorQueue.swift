import COpenSSL
import Glibc

/// OpenSSL's error queue of this thread.
///
/// Every failed call leaves its reasons there, and `SSL_get_error` reads them: a reason left behind would be taken for
/// the failure of a later call on another connection. So whoever sees a failure takes the whole queue, and the queue is
/// cleared before each call whose outcome `SSL_get_error` explains.
enum ErrorQueue {
    /// Why a call failed, in OpenSSL's own words.
    struct Entry {
        var library: Int32
        var reason: Int32
        var text: String
    }

    static func clear() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Empties the queue and gives the entry that tells most: the oldest, which caused the later ones, of the library
    /// `favourite` if that has any, else of all.
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

extension ErrorQueue.Entry {
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
