import COpenSSL
import Core
import Glibc
import System

/// The certificates of a ``TLSContext/Trust``, parsed once and shared by all contexts of the process: the system's
/// take 16 ms and 768 KiB.
@safe
final class TrustStore: Sendable {
    /// The maximum number of kept stores; then the next read drops all but the system's, which is by far the largest.
    private static let maximumKept = 16

    /// The newest store of each trust, and the versions of its files.
    private static let kept = Guarded<[TLSContext.Trust: (store: TrustStore, files: [FileStamp?])]>([:])

    // OpenSSL counts a store's references and locks its contents. It returns none only when out of memory.
    nonisolated(unsafe) private let store = unsafe Owned(X509_STORE_new(), { unsafe X509_STORE_free($0) })!

    private init(_ trust: TLSContext.Trust) throws(TLSError) {
        switch trust {
        case .none: break
        case .system:
            for file in Self.files(of: trust) { try Self.requireNoFIFO(file) }
            guard unsafe X509_STORE_set_default_paths(store.pointer) == 1 else {
                throw .openSSL("the system's authorities cannot be loaded")
            }
        case .file(let file): try add(File.text(file, "the CA file"), "the CA file \(file)")
        case .pem(let text): try add(text, "the CA certificates")
        }
    }

    private func add(_ text: String, _ what: String) throws(TLSError) {
        try unsafe PEM.forEachCertificate(in: text, what) { (certificate) throws(TLSError) in
            guard unsafe X509_STORE_add_cert(store.pointer, certificate) == 1 else {
                throw .openSSL("\(what) cannot be used")
            }
        }
    }

    /// The store of a trust. It is read again after one of its files has changed.
    static func of(_ trust: TLSContext.Trust) throws(TLSError) -> TrustStore {
        let files = files(of: trust).map { FileStamp($0) }
        return try kept.withLock { (kept) throws(TLSError) in
            if let known = kept[trust], known.files == files { return known.store }
            let store = try TrustStore(trust)
            if kept.count >= maximumKept { kept = kept.filter { $0.key == .system } }
            kept[trust] = (store, files)
            return store
        }
    }

    /// The files and folders that OpenSSL reads.
    private static func files(of trust: TLSContext.Trust) -> [String] {
        switch trust {
        case .none, .pem: return []
        case .file(let file): return [file.path]
        case .system:
            let file = unsafe variable(X509_get_default_cert_file_env(), or: X509_get_default_cert_file())
            let folders = unsafe variable(X509_get_default_cert_dir_env(), or: X509_get_default_cert_dir())
            return [file] + folders.split(separator: ":").map(String.init)
        }
    }

    /// OpenSSL would wait until a FIFO has a writer.
    static func requireNoFIFO(_ file: String) throws(TLSError) {
        var status = stat()
        guard unsafe stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        throw TLSError(.unreadableFile, "the file of authorities \(file) is a FIFO: check SSL_CERT_FILE")
    }

    private static func variable(_ name: UnsafePointer<CChar>, or path: UnsafePointer<CChar>) -> String {
        unsafe getenv(name).map { unsafe String(cString: $0) } ?? String(cString: path)
    }

    /// Sets the authorities of an `SSL_CTX`; a server also sends their names to its clients (RFC 8446 section 4.2.4).
    func install(in context: OpaquePointer, role: TLSContext.Role) throws(TLSError) {
        unsafe SSL_CTX_set1_cert_store(context, store.pointer)
        guard role == .server, let certificates = unsafe X509_STORE_get1_all_certs(store.pointer) else { return }
        defer { unsafe shim_sk_X509_pop_free(certificates) }
        for index in 0..<(unsafe shim_sk_X509_num(certificates)) {
            guard unsafe SSL_CTX_add_client_CA(context, shim_sk_X509_value(certificates, index)) == 1 else {
                throw .openSSL("the CA certificates cannot be used")
            }
        }
    }
}
