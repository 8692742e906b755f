import COpenSSL
import Core

/// Reads PKCS #12 files (RFC 7292), also those of older programs: 40-bit RC2 is only in the legacy provider, which
/// nothing else should use. If that provider is not installed, newer files can still be read.
enum PKCS12 {
    /// The certificate followed by its issuers, and the private key, as PEM.
    static func pem(
        of file: [UInt8], password: String, _ what: String
    ) throws(TLSError) -> (certificates: String, privateKey: String) {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let library = unsafe OSSL_LIB_CTX_new()!
        let names = ["default", "legacy"]
        let providers = unsafe names.compactMap { unsafe OSSL_PROVIDER_load(library, $0) }
        defer {
            unsafe providers.forEach { _ = unsafe OSSL_PROVIDER_unload($0) }
            unsafe OSSL_LIB_CTX_free(library)
        }
        let source = PEM.reader(of: file)
        var parsed = unsafe PKCS12_init_ex(NID_pkcs7_data, library, nil)
        let isRead = unsafe d2i_PKCS12_bio(source.pointer, &parsed) != nil
        // Whether OpenSSL has freed the object after a failure depends on how far it got.
        guard let store = unsafe Owned(parsed, { unsafe PKCS12_free($0) }), isRead else {
            throw TLSError(.badPKCS12, "\(what) is not a PKCS #12 file, or it is damaged")
        }

        var keyPointer: OpaquePointer?
        var certificatePointer: OpaquePointer?
        var issuersPointer: OpaquePointer?
        let done = unsafe PKCS12_parse(store.pointer, password, &keyPointer, &certificatePointer, &issuersPointer)
        let key = unsafe Owned(keyPointer, { unsafe EVP_PKEY_free($0) })
        let certificate = unsafe Owned(certificatePointer, { unsafe X509_free($0) })
        let issuers = unsafe Owned(issuersPointer, { unsafe shim_sk_X509_pop_free($0) })
        guard done == 1 else {
            let entry = ErrorQueue.take(favouring: ERR_LIB_PKCS12)
            if let entry, entry.library == ERR_LIB_PKCS12, entry.reason == PKCS12_R_MAC_VERIFY_FAILURE {
                throw TLSError(
                    .wrongPassword, password.isEmpty ? "\(what) needs a password" : "the password of \(what) is wrong")
            }
            var message = "\(what) cannot be read (\(entry?.text ?? "unknown"))"
            if unsafe providers.count < 2 {
                message +=
                    ": keychains encrypt with RC2, which only OpenSSL's legacy provider knows, and that is not "
                    + "installed here; install it (Debian: libssl3 or openssl-provider-legacy), or make PEM files "
                    + "where it is"
            }
            throw TLSError(.badPKCS12, message)
        }
        // OpenSSL also reads a key with numbers out of range, which it cannot write.
        let encoded = unsafe keyPointer.flatMap { unsafe EVP_PKEY2PKCS8($0) }
        unsafe PKCS8_PRIV_KEY_INFO_free(encoded)
        guard unsafe keyPointer == nil || encoded != nil else {
            throw TLSError(.badPKCS12, "the key in \(what) is damaged")
        }
        guard let key, let certificate else {
            throw TLSError(.badPKCS12, "\(what) lacks a private key with its certificate")
        }
        var certificates = unsafe PEM.text { unsafe PEM_write_bio_X509($0, certificate.pointer) }
        if let issuers {
            for index in unsafe 0..<shim_sk_X509_num(issuers.pointer) {
                let issuer = unsafe shim_sk_X509_value(issuers.pointer, index)
                certificates += unsafe PEM.text { unsafe PEM_write_bio_X509($0, issuer) }
            }
        }
        return (certificates, PEM.pkcs8(key))
    }
}
