import Core
import Glibc
import TLS
import Testing

@Suite
struct ContextTests {
    private static let issued = Pair.authority.issue(names: ["server.example"], usage: .server)

    @Test("identity and trust are read from files")
    func files() throws {
        let directory = try TemporaryDirectory()
        let certificate = try directory.write("server.pem", Self.issued.certificatePEM)
        let key = try directory.write("server.key", Self.issued.privateKeyPEM)
        let authority = try directory.write("ca.pem", Pair.authority.certificatePEM)
        let pair = try Pair(
            Pair.client(trust: .file(authority)),
            Pair.server(identity: .pem(certificateFile: certificate, privateKeyFile: key)))
        #expect(pair.connect() == (nil, nil))
        #expect(try Certificate(file: certificate).subjectCommonName == "server.example")
    }

    @Test("certificate and key may stand in one file")
    func oneFile() throws {
        let directory = try TemporaryDirectory()
        let both = try directory.write("both.pem", Self.issued.privateKeyPEM + Self.issued.certificatePEM)
        let identity = TLSContext.Identity.pem(certificateFile: both, privateKeyFile: both)
        #expect(try Pair(Pair.client(), Pair.server(identity: identity)).connect() == (nil, nil))
    }

    @Test("a missing file is named")
    func missing() throws {
        let directory = try TemporaryDirectory()
        let certificate = try directory.write("server.pem", Self.issued.certificatePEM)
        let path = "\(directory.path)/missing"
        #expect(
            failure(trust: .file(path)).message == "cannot read the CA file \(path): No such file or directory")
        #expect(failure(trust: .file(path)).code == .unreadableFile)
        #expect(
            failure(identity: .pem(certificateFile: path, privateKeyFile: path)).message
                == "cannot read the certificate file \(path): No such file or directory")
        #expect(
            failure(identity: .pem(certificateFile: certificate, privateKeyFile: path)).message
                == "cannot read the private key file \(path): No such file or directory")
        #expect(
            failure(trust: .file(directory.path)).message == "cannot read the CA file \(directory.path): Is a directory"
        )
    }

    @Test("a key of another certificate is refused")
    func mismatch() {
        let other = Pair.authority.issue(names: ["server.example"], usage: .server)
        let failure = failure(
            identity: .pemText(certificates: Self.issued.certificatePEM, privateKey: other.privateKeyPEM))
        #expect(failure.code == .keyMismatch)
        #expect(
            failure.message
                == "the private key does not belong to the certificate: it needs the key that the certificate was "
                + "requested with")
        let wrongType = self.failure(
            identity: .pemText(certificates: Self.issued.certificatePEM, privateKey: Keys.ed25519))
        #expect(wrongType.code == .keyMismatch)
    }

    @Test("an encrypted key is refused without asking")
    func encrypted() {
        let failure = failure(
            identity: .pemText(certificates: Self.issued.certificatePEM, privateKey: Keys.encrypted))
        #expect(failure.code == .encryptedKey)
    }

    @Test("texts without certificates are refused")
    func badPEM() {
        let empty = failure(trust: .pem(""))
        #expect(empty.code == .badPEM)
        #expect(empty.message == "the CA certificates: the text holds no PEM certificate, but no PEM block at all")
        #expect(
            failure(trust: .pem(Self.issued.privateKeyPEM)).message
                == "the CA certificates: the text holds no PEM certificate, but only PRIVATE KEY")
        #expect(
            failure(
                identity: .pemText(certificates: Self.issued.privateKeyPEM, privateKey: Self.issued.privateKeyPEM)
            ).message == "the certificate: the text holds no PEM certificate, but only PRIVATE KEY")
    }

    @Test("the second certificate of a bundle is named when it is damaged")
    func damagedBundle() {
        let broken = Pair.authority.certificatePEM.replacing("\nMII", with: "\nMIJ")
        let failure = failure(trust: .pem(Pair.authority.certificatePEM + broken))
        #expect(failure.code == .badPEM)
        #expect(failure.message.hasPrefix("the CA certificates: certificate number 2 is damaged ("))
    }

    @Test("an identity is read from a PKCS #12 file, however old its ciphers are", arguments: [false, true])
    func pkcs12(isLegacy: Bool) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("app.p12", isLegacy ? PKCS12Files.legacy : PKCS12Files.modern)
        let identity = TLSContext.Identity.pkcs12(file: file, password: "secret")
        let certificate = try identity.certificate()
        #expect(certificate.subjectUID == "com.example.legacy")
        #expect(certificate.subjectCommonName == "Apple Push Services: com.example.legacy")
        let server = try Pair.server(trust: .none, requiresPeerCertificate: true)
        let pair = try Pair(Pair.client(identity: identity), server)
        #expect(pair.connect() == (nil, nil))
        #expect(pair.server.peerCertificate == certificate)
    }

    @Test("a PKCS #12 file with another password, or damaged, is refused")
    func badPKCS12() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("app.p12", PKCS12Files.modern)
        for password in ["", "other"] {
            let failure = failure(identity: .pkcs12(file: file, password: password))
            #expect(failure.code == .wrongPassword)
            #expect(failure.message == "the password of the PKCS #12 file \(file) is wrong")
        }
        let cut = try directory.write("cut.p12", Array(PKCS12Files.modern.dropLast(100)))
        #expect(failure(identity: .pkcs12(file: cut, password: "secret")).code == .badPKCS12)
        let text = try directory.write("text.p12", Self.issued.certificatePEM)
        #expect(
            failure(identity: .pkcs12(file: text, password: "secret")).message
                == "the PKCS #12 file \(text) is no PKCS #12 file, or a damaged one")
    }

    private func failure(
        trust: TLSContext.Trust = .none, identity: TLSContext.Identity? = nil
    ) -> TLSError {
        do throws(TLSError) {
            _ = try TLSContext(role: .client, trust: trust, identity: identity, protocols: [])
            preconditionFailure("this context should have been refused")
        } catch {
            return error
        }
    }
}

/// A directory that goes with its last owner.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/harebell-tls-XXXXXX\0".utf8.map { CChar($0) })
        path = try unsafe #require(mkdtemp(&template).map { unsafe String(cString: $0) })
    }

    func write(_ name: String, _ text: String) throws -> String {
        try write(name, Array(text.utf8))
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = "\(path)/\(name)"
        let stream = try unsafe #require(fopen(file, "w"))
        #expect(unsafe fwrite(bytes, 1, bytes.count, stream) == bytes.count)
        #expect(unsafe fclose(stream) == 0)
        return file
    }

    deinit {
        guard let directory = unsafe opendir(path) else { return }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { unsafe unlink("\(path)/\(name)") }
        }
        unsafe closedir(directory)
        unsafe rmdir(path)
    }
}
