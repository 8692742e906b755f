import COpenSSL
import Core

/// A public ECDSA key on the curve P-256 that verifies ES256 signatures (RFC 7518 section 3.4).
@safe
package final class VerifyingKey {
    private let key: Owned

    /// A public key as PEM, or the public key of a private key.
    package init(publicKeyPEM pem: String) throws(TLSError) {
        let what = "the public key"
        if PEM.labels(in: pem).first == "PUBLIC KEY" {
            ErrorQueue.clear()
            let source = PEM.reader(of: Array(pem.utf8))
            let read = unsafe PEM_read_bio_PUBKEY(source.pointer, nil, nil, nil)
            guard let owned = unsafe Owned(read, { unsafe EVP_PKEY_free($0) }) else {
                throw TLSError(.badPEM, "\(what) is damaged (\(ErrorQueue.take()?.text ?? "unknown"))")
            }
            key = owned
        } else {
            key = try PEM.privateKey(in: pem, what)
        }
        try ES256.requireP256(key, what)
    }

    /// Whether `signature` (64 bytes, r and s, or DER) is this key's signature of `message`.
    package func verifyES256(_ message: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        let der = signature.count == 64 ? ES256.derSignature(raw: signature) : Array(copying: signature)
        let context = unsafe Owned(EVP_MD_CTX_new(), { unsafe EVP_MD_CTX_free($0) })!
        let isValid = unsafe message.withUnsafeBufferPointer { message in
            unsafe EVP_DigestVerifyInit(context.pointer, nil, shim_sha256(), nil, key.pointer) == 1
                && EVP_DigestVerify(context.pointer, der, der.count, message.baseAddress, message.count) == 1
        }
        ErrorQueue.clear()
        return isValid
    }
}
