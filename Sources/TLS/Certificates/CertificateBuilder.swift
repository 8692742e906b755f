import COpenSSL
import Core
import Glibc

/// A certificate being built.
@safe
struct CertificateBuilder: ~Copyable {
    private let certificate: Owned
    private var extensions: [(identifier: Int32, value: String)] = []
    var otherExtensions: [X509Extension] = []

    /// A version 3 certificate for `key` with a random serial number (RFC 5280 section 4.1.2.2).
    init(key: borrowing Owned, notBefore: WallTime, notAfter: WallTime) {
        certificate = unsafe Owned(X509_new(), { unsafe X509_free($0) })!
        var random = SystemRandomNumberGenerator()
        let serial = UInt64.random(in: 1...UInt64(Int64.max), using: &random)
        let pointer = unsafe certificate.pointer
        let done =
            unsafe X509_set_version(pointer, Int(X509_VERSION_3)) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), serial) == 1
            && ASN1_TIME_set(X509_getm_notBefore(pointer), time_t(notBefore.seconds)) != nil
            && ASN1_TIME_set(X509_getm_notAfter(pointer), time_t(notAfter.seconds)) != nil
            && X509_set_pubkey(pointer, key.pointer) == 1
        precondition(done, "a new certificate takes its fields")
    }

    mutating func addToSubject(_ attribute: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        let done = unsafe X509_NAME_add_entry_by_NID(
            X509_get_subject_name(certificate.pointer), attribute, V_ASN1_UTF8STRING, bytes, Int32(bytes.count), -1, 0)
        precondition(done == 1, "a name has 1 to 64 characters")
    }

    /// Adds an extension in the notation of OpenSSL's x509v3_config(5).
    mutating func addExtension(_ identifier: Int32, _ value: String) {
        extensions.append((identifier, value))
    }

    mutating func addAlternativeNames(names: [String], addresses: [String]) {
        let alternatives = names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
        precondition(!alternatives.contains { $0.contains(",") }, "a name has no comma")
        guard !alternatives.isEmpty else { return }
        addExtension(NID_subject_alt_name, alternatives.joined(separator: ","))
    }

    /// The certificate as PEM, signed by its own key.
    consuming func signed(by key: borrowing Owned) -> String {
        unsafe finish(issuer: certificate.pointer, key)
    }

    consuming func signed(by authority: CertificateAuthority) -> String {
        addExtension(NID_authority_key_identifier, "keyid")
        var pem = ""
        do {
            let key = try PEM.privateKey(in: authority.privateKeyPEM, "the authority's key")
            try unsafe PEM.forEachCertificate(in: authority.certificatePEM, "the authority's certificate") { issuer in
                pem = unsafe finish(issuer: issuer, key)
            }
        } catch {
            preconditionFailure("an authority must read its own certificate: \(error)")
        }
        return pem
    }

    private borrowing func finish(issuer: OpaquePointer, _ key: borrowing Owned) -> String {
        let pointer = unsafe certificate.pointer
        var done = unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer)) == 1
        for (identifier, value) in extensions {
            var context = unsafe X509V3_CTX()
            unsafe X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
            let entry = unsafe X509V3_EXT_nconf_nid(nil, &context, identifier, value)
            unsafe done = done && X509_add_ext(pointer, entry, -1) == 1
            unsafe X509_EXTENSION_free(entry)
        }
        for other in otherExtensions { unsafe other.add(to: pointer) }
        unsafe done = done && X509_sign(pointer, key.pointer, shim_sha256()) > 0
        precondition(done, "a certificate with valid extensions can be signed: \(ErrorQueue.take()?.text ?? "")")
        ErrorQueue.clear()
        return unsafe PEM.text { unsafe PEM_write_bio_X509($0, pointer) }
    }
}
