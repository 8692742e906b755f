import COpenSSL
import Core

/// Common code for signing and verifying with ES256: P-256 keys, and the two forms of a signature.
///
/// OpenSSL uses the DER of RFC 3279 section 2.2.3, JSON Web Signatures the raw r and s of RFC 7518 section 3.4.
enum ES256 {
    static let curve = "prime256v1"

    /// The size of r and of s, in bytes.
    static let scalarSize = 32

    /// A sequence of two integers of at most 33 bytes.
    static let maximumDERSize = 72

    static func generate() -> Owned {
        unsafe Owned(shim_EVP_EC_gen(curve), { unsafe EVP_PKEY_free($0) })!
    }

    static func requireP256(_ key: borrowing Owned, _ what: String) throws(TLSError) {
        let kind = description(of: key)
        guard kind != "EC \(curve)" else { return }
        throw TLSError(
            .wrongKeyType, "\(what) is of the kind \(kind): ES256 needs an EC key on the curve P-256 (\(curve))")
    }

    /// OpenSSL also reads a key with numbers out of range. It can neither sign with it nor write it.
    static func requireSound(_ key: borrowing Owned, _ what: String) throws(TLSError) {
        ErrorQueue.clear()
        guard let context = unsafe Owned(EVP_PKEY_CTX_new(key.pointer, nil), { unsafe EVP_PKEY_CTX_free($0) }),
            unsafe EVP_PKEY_check(context.pointer) == 1
        else { throw TLSError(.badPEM, "\(what): OpenSSL cannot use it (\(ErrorQueue.take()?.text ?? "unknown"))") }
    }

    /// `RSA`, `ED25519`, `EC secp384r1` …
    private static func description(of key: borrowing Owned) -> String {
        let type = unsafe EVP_PKEY_get0_type_name(key.pointer).map { unsafe String(cString: $0) } ?? "unknown"
        guard type == "EC" else { return type }
        defer { ErrorQueue.clear() }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { room in
            let found = unsafe EVP_PKEY_get_group_name(key.pointer, room.baseAddress, room.count, nil) == 1
            return found ? unsafe "EC \(String(cString: room.baseAddress!))" : "EC with an unnamed curve"
        }
    }

    static func rawSignature(der: [UInt8]) -> [UInt8] {
        let signature = unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        let parsed = unsafe Owned(signature, { unsafe ECDSA_SIG_free($0) })!
        return unsafe [UInt8](unsafeUninitializedCapacity: 2 * scalarSize) { room, filled in
            let size = Int32(scalarSize)
            let done =
                unsafe BN_bn2binpad(ECDSA_SIG_get0_r(parsed.pointer), room.baseAddress, size) == size
                && BN_bn2binpad(ECDSA_SIG_get0_s(parsed.pointer), room.baseAddress! + scalarSize, size) == size
            precondition(done, "r and s of P-256 have at most 32 bytes")
            filled = 2 * scalarSize
        }
    }

    static func derSignature(raw: Span<UInt8>) -> [UInt8] {
        precondition(raw.count == 2 * scalarSize, "r and s have 32 bytes each")
        let signature = unsafe Owned(ECDSA_SIG_new(), { unsafe ECDSA_SIG_free($0) })!
        unsafe raw.withUnsafeBufferPointer { bytes in
            let r = unsafe BN_bin2bn(bytes.baseAddress, Int32(scalarSize), nil)
            let s = unsafe BN_bin2bn(bytes.baseAddress! + scalarSize, Int32(scalarSize), nil)
            let done = unsafe ECDSA_SIG_set0(signature.pointer, r, s)
            precondition(done == 1, "a signature takes two numbers")
        }
        return unsafe [UInt8](unsafeUninitializedCapacity: maximumDERSize) { room, filled in
            var end = room.baseAddress
            filled = unsafe Int(i2d_ECDSA_SIG(signature.pointer, &end))
        }
    }
}
