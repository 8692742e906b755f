import COpenSSL
package import System

/// Hash functions of FIPS 180-4.
package enum Digest {
    /// SHA-256: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                let done = unsafe EVP_Digest(
                    input.baseAddress, input.count, room.baseAddress, nil, shim_sha256(), nil)
                precondition(done == 1, "OpenSSL's default provider has SHA-256")
            }
            count = 32
        }
    }

    /// SHA-256 of a file's content: 32 bytes.
    package static func sha256(file: FilePath) throws(TLSError) -> [UInt8] {
        sha256(try File.bytes(file, "the file"))
    }
}

/// SHA-1 of many short texts, one after the other: making a context for each costs as much as hashing it.
///
/// For names (RFC 9562 section 5.5), not for security.
@safe
package final class RepeatedSHA1 {
    private let context = unsafe Owned(EVP_MD_CTX_new(), { unsafe EVP_MD_CTX_free($0) })!

    package init() {}

    package func digest(_ bytes: [UInt8]) -> InlineArray<20, UInt8> {
        var digest = InlineArray<20, UInt8>(repeating: 0)
        var span = digest.mutableSpan
        let isDone = unsafe span.withUnsafeMutableBufferPointer { room in
            unsafe bytes.withUnsafeBufferPointer { input in
                unsafe EVP_DigestInit_ex(context.pointer, shim_sha1(), nil) == 1
                    && EVP_DigestUpdate(context.pointer, input.baseAddress, input.count) == 1
                    && EVP_DigestFinal_ex(context.pointer, room.baseAddress, nil) == 1
            }
        }
        precondition(isDone, "OpenSSL's default provider has SHA-1")
        return digest
    }
}
