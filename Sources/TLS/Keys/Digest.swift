import COpenSSL
package import System

/// Hash functions of FIPS 180-4.
package enum Digest {
    /// SHA-1: 20 bytes. For names (RFC 9562 section 5.5), not for security.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        unsafe digest(bytes, shim_sha1(), size: 20)
    }

    /// SHA-256: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        unsafe digest(bytes, shim_sha256(), size: 32)
    }

    /// SHA-256 of a file's content: 32 bytes.
    package static func sha256(file: FilePath) throws(TLSError) -> [UInt8] {
        sha256(try File.bytes(file, "the file"))
    }

    private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?, size: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: size) { room, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                let done = unsafe EVP_Digest(input.baseAddress, input.count, room.baseAddress, nil, algorithm, nil)
                precondition(done == 1, "OpenSSL's default provider has every hash function that is asked for")
            }
            count = size
        }
    }
}
