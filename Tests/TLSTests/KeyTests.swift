import Core
import System
import TLS
import TestSupport
import Testing

@Suite
struct KeyTests {
    /// RFC 7515 appendix A.3: the key as `SubjectPublicKeyInfo`, the signing input and its signature.
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----
        """
    private static let message =
        "eyJhbGciOiJFUzI1NiJ9."
        + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let signature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    @Test("the signature of RFC 7515 is valid, and invalid after any change of a byte")
    func vector() throws {
        let key = try VerifyingKey(publicKeyPEM: Self.publicKey)
        let message = Array(Self.message.utf8)
        let signature = try #require(Base64.url.decode(Self.signature))
        #expect(key.accepts(signature, of: message))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 0x10
            #expect(!key.accepts(changed, of: message))
        }
        #expect(!key.accepts(signature, of: Array(message.dropLast())))
        #expect(!key.accepts(Array(signature.dropLast()), of: message))
    }

    @Test("every signature has 64 bytes and is valid for its key only")
    func signing() throws {
        let key = SigningKey.generate()
        let verifying = try VerifyingKey(publicKeyPEM: key.publicKeyPEM)
        let other = try VerifyingKey(publicKeyPEM: SigningKey.generate().publicKeyPEM)
        // One of 256 has an r or s with a leading zero byte, which the 64 bytes keep.
        for number in UInt16.min..<600 {
            let message = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
            let signature = key.signES256(message.span)
            try #require(signature.count == 64)
            try #require(verifying.accepts(signature, of: message))
            try #require(!other.accepts(signature, of: message))
        }
    }

    @Test("a key survives writing and reading")
    func roundTrip() throws {
        let key = SigningKey.generate()
        let again = try SigningKey(pkcs8PEM: key.pkcs8PEM)
        #expect(again.publicKeyPEM == key.publicKeyPEM && again.pkcs8PEM.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let signature = again.signES256([1, 2, 3].span)
        let fromPrivate = try VerifyingKey(publicKeyPEM: key.pkcs8PEM)
        #expect(fromPrivate.accepts(signature, of: [1, 2, 3]))
    }

    private static let p384 = ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"]

    /// A key that ES256 cannot use, made by OpenSSL's program.
    static func key(_ options: [String]) throws -> String {
        try ChildProcess.run("/usr/bin/openssl", ["genpkey", "-algorithm"] + options)
    }

    @Test(
        "keys of other kinds are named",
        arguments: [
            ("RSA", ["RSA", "-pkeyopt", "rsa_keygen_bits:512"]), ("EC secp384r1", p384), ("ED25519", ["ED25519"]),
        ])
    func wrongKind(kind: String, options: [String]) throws {
        let pem = try Self.key(options)
        let failure = #expect(throws: TLSError.self) { try SigningKey(pkcs8PEM: pem) }
        let message = "is of the kind \(kind): ES256 needs an EC key on the curve P-256 (prime256v1)"
        #expect(failure?.code == .wrongKeyType && failure?.message == "the signing key \(message)")
    }

    @Test("an encrypted key is reported as such, without a passphrase prompt")
    func encrypted() throws {
        let pem = try Self.key(["EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-256-cbc", "-pass", "pass:abc"])
        let failure = #expect(throws: TLSError.self) { try SigningKey(pkcs8PEM: pem) }
        #expect(failure?.code == .encryptedKey)
        #expect(
            failure?.message
                == "the signing key is encrypted with a passphrase: write it without one by `openssl pkey -in KEY -out "
                + "NEWKEY`")
    }

    @Test("the error for a file without a key names its content")
    func noKey() throws {
        let certificate = Pair.authority.certificatePEM
        #expect(message(certificate) == "the signing key: expected a PEM key, found only CERTIFICATE")
        #expect(message("") == "the signing key: expected a PEM key, found no PEM block")
        let damaged = try Self.key(Self.p384).replacing("MIG2", with: "MIG3")
        #expect(message(damaged).hasPrefix("the signing key: its PRIVATE KEY is damaged ("))
        let number = "MEICAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEKDAmAgEBBCF/" + String(repeating: "f39/", count: 10) + "f38="
        let pem = "-----BEGIN PRIVATE KEY-----\n\(number)\n-----END PRIVATE KEY-----\n"
        #expect(message(pem).hasPrefix("the signing key: OpenSSL cannot use it ("))
    }

    @Test("an invalid public key is refused")
    func noPublicKey() {
        let error = #expect(throws: TLSError.self) { try VerifyingKey(publicKeyPEM: "nothing") }
        #expect(error?.code == .badPEM && error?.message == "the public key: expected a PEM key, found no PEM block")
    }

    private func message(_ pem: String) -> String {
        #expect(throws: TLSError.self) { try SigningKey(pkcs8PEM: pem) }?.message ?? ""
    }
}

extension VerifyingKey {
    fileprivate func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        verifyES256(message.span, signature: signature.span)
    }
}
