import COpenSSL
package import System

/// A private ECDSA key on the curve P-256 that signs with ES256 (RFC 7518 section 3.4), as in Apple's `.p8` files.
@safe
package final class SigningKey {
    private let key: Owned

    /// A private key as unencrypted PKCS#8 in PEM, the format of Apple's files.
    package init(pkcs8PEM: String, _ what: String = "the signing key") throws(TLSError) {
        key = try PEM.privateKey(in: pkcs8PEM, what)
        try ES256.requireP256(key, what)
        try ES256.requireSound(key, what)
    }

    /// A `.p8` file.
    package convenience init(file: FilePath) throws(TLSError) {
        let what = "the signing key file"
        try self.init(pkcs8PEM: File.text(file, what), "\(what) \(file)")
    }

    private init(_ key: consuming Owned) {
        self.key = key
    }

    package static func generate() -> SigningKey {
        SigningKey(ES256.generate())
    }

    /// The signature of `message`: 64 bytes, r and s as 32 big-endian bytes each.
    package func signES256(_ message: Span<UInt8>) -> [UInt8] {
        let context = unsafe Owned(EVP_MD_CTX_new(), { unsafe EVP_MD_CTX_free($0) })!
        let signature = unsafe message.withUnsafeBufferPointer { message in
            var count = ES256.maximumDERSize
            return unsafe [UInt8](unsafeUninitializedCapacity: count) { room, filled in
                let done =
                    unsafe EVP_DigestSignInit(context.pointer, nil, shim_sha256(), nil, key.pointer) == 1
                    && EVP_DigestSign(context.pointer, room.baseAddress, &count, message.baseAddress, message.count)
                        == 1
                precondition(done, "a P-256 key must be able to sign")
                filled = count
            }
        }
        return ES256.rawSignature(der: signature)
    }

    /// The public half, as `SubjectPublicKeyInfo` in PEM.
    package var publicKeyPEM: String {
        unsafe PEM.text { unsafe PEM_write_bio_PUBKEY($0, key.pointer) }
    }

    /// The private key, as unencrypted PKCS#8 in PEM: a secret.
    package var pkcs8PEM: String {
        PEM.pkcs8(key)
    }
}
