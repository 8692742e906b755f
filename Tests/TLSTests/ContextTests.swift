import COpenSSL
import Core
import System
import TestSupport
import Testing

@testable import TLS

@Suite
struct ContextTests {
    private static let issued = Pair.authority.issue(names: ["server.example"], usage: .server)

    @Test("identity and trust are read from files, and certificate and key may be in one")
    func files() throws {
        let directory = try TemporaryDirectory()
        let certificate = FilePath(try directory.write(Self.issued.certificatePEM, to: "server.pem"))
        let key = FilePath(try directory.write(Self.issued.privateKeyPEM, to: "server.key"))
        let authority = FilePath(try directory.write(Pair.authority.certificatePEM, to: "ca.pem"))
        let both = FilePath(try directory.write(Self.issued.privateKeyPEM + Self.issued.certificatePEM, to: "both.pem"))
        for (certificate, key) in [(certificate, key), (both, both)] {
            let pair = try Pair(
                Pair.client(trust: .file(authority)),
                Pair.server(identity: .pem(certificateFile: certificate, privateKeyFile: key)))
            #expect(pair.connect() == (nil, nil))
        }
        #expect(try Certificate(file: certificate).subjectCommonName == "server.example")
    }

    @Test("a CA file that has changed is read again, each time")
    func changedFile() throws {
        let directory = try TemporaryDirectory()
        let stranger = CertificateAuthority(commonName: "Stranger", now: Pair.now)
        var clients: [TLSContext] = []
        for authority in [Pair.authority, stranger, Pair.authority] {
            let file = FilePath(try directory.write(authority.certificatePEM, to: "ca.pem"))
            clients.append(try Pair.client(trust: .file(file)))
        }
        for (client, isRight) in zip(clients, [true, false, true]) {
            #expect(try Pair(client, Pair.server()).connect().client?.code == (isRight ? nil : .unknownAuthority))
        }
    }

    @Test("600 contexts parse the system's authorities once, and some of the others' are kept")
    func sharedAuthorities() throws {
        struct Other { weak var store: TrustStore? }
        var others: [Other] = []
        var most = 0
        let begin = threadTime()
        for index in 0..<600 {
            _ = try Pair.client(trust: .system)
            guard index % 20 == 0 else { continue }
            let other = CertificateAuthority(commonName: "Other \(index)", now: Pair.now)
            others.append(try Other(store: TrustStore.of(.pem(other.certificatePEM))))
            most = max(most, others.count(where: { $0.store != nil }))
        }
        let time = threadTime() - begin
        // Parsing them for each context takes more than ten seconds.
        #expect(time < .seconds(5), "\(time)")
        #expect(2...15 ~= most)
    }

    @Test("a missing file is named, and one that is too large")
    func missing() throws {
        let directory = try TemporaryDirectory()
        let certificate = FilePath(try directory.write(Self.issued.certificatePEM, to: "server.pem"))
        let path = FilePath("\(directory.path)/missing")
        #expect(failure(trust: .file(path)).message == "cannot read the CA file \(path): No such file or directory")
        #expect(failure(trust: .file(path)).code == .unreadableFile)
        #expect(
            failure(identity: .pem(certificateFile: path, privateKeyFile: path)).message
                == "cannot read the certificate file \(path): No such file or directory")
        #expect(
            failure(identity: .pem(certificateFile: certificate, privateKeyFile: path)).message
                == "cannot read the private key file \(path): No such file or directory")
        try ChildProcess.run("/usr/bin/mkfifo", [directory.file("fifo")])
        #expect(throws: TLSError.self) { try TrustStore.requireNoFIFO(directory.file("fifo")) }
        try TrustStore.requireNoFIFO("/dev/null")
        let large = FilePath(try directory.write([UInt8](repeating: 0, count: 8_388_609), to: "large.pem"))
        #expect(
            failure(trust: .file(large)).message == "cannot read the CA file \(large): it is larger than 8388608 bytes")
    }

    @Test("a key of another certificate is refused")
    func mismatch() throws {
        let other = Pair.authority.issue(names: ["server.example"], usage: .server)
        let failure = failure(
            identity: .pemText(certificates: Self.issued.certificatePEM, privateKey: other.privateKeyPEM))
        #expect(failure.code == .keyMismatch)
        #expect(
            failure.message
                == "the private key does not belong to the certificate: it needs the key that the certificate was "
                + "requested with")
        let key = try KeyTests.key(["ED25519"])
        let wrongType = self.failure(identity: .pemText(certificates: Self.issued.certificatePEM, privateKey: key))
        #expect(wrongType.code == .keyMismatch)
    }

    @Test("texts without certificates are refused")
    func badPEM() {
        let empty = failure(trust: .pem(""))
        #expect(empty.code == .badPEM)
        #expect(empty.message == "the CA certificates: expected a PEM certificate, found no PEM block")
        #expect(
            failure(trust: .pem(Self.issued.privateKeyPEM)).message
                == "the CA certificates: expected a PEM certificate, found only PRIVATE KEY")
    }

    @Test("the damaged second certificate of a bundle is named, or one that is cut")
    func damagedBundle() {
        let broken = Pair.authority.certificatePEM.replacing("\nMII", with: "\nMIJ")
        let failure = failure(trust: .pem(Pair.authority.certificatePEM + broken))
        #expect(failure.code == .badPEM)
        #expect(failure.message == "the CA certificates: certificate number 2 is damaged (too long)")
        let cut = "\(Pair.authority.certificatePEM)\(Pair.authority.certificatePEM.dropLast(20))"
        #expect(self.failure(trust: .pem(cut)).message.hasSuffix("number 2 is damaged (bad end line)"))
    }

    @Test("an identity is read from a PKCS #12 file, even with old ciphers", arguments: [false, true])
    func pkcs12(isLegacy: Bool) throws {
        let directory = try TemporaryDirectory()
        let issued = Pair.authority.issue(
            usage: .client, commonName: "Apple Push Services: com.example.legacy", subjectUID: "com.example.legacy")
        let file = try exported(
            issued.privateKeyPEM + issued.certificatePEM, in: directory, isLegacy ? ["-legacy"] : [])
        let identity = TLSContext.Identity.pkcs12(file: file, password: "secret")
        let certificate = try identity.certificate()
        #expect(certificate.subjectUID == "com.example.legacy")
        #expect(certificate.subjectCommonName == "Apple Push Services: com.example.legacy")
        let server = try Pair.server(trust: .none, requiresPeerCertificate: true)
        let pair = try Pair(Pair.client(identity: identity), server)
        #expect(pair.connect() == (nil, nil))
        #expect(pair.server.peerCertificate == certificate)
    }

    @Test("the issuers in a PKCS #12 file are sent with its certificate")
    func pkcs12Issuers() throws {
        let middle = CertificateAuthority(commonName: "Intermediate", now: Pair.now, issuer: Pair.authority)
        let issued = middle.issue(usage: .client, commonName: "client")
        let directory = try TemporaryDirectory()
        let file = try exported(issued.privateKeyPEM + issued.certificatePEM + middle.certificatePEM, in: directory)
        let client = try Pair.client(identity: .pkcs12(file: file, password: "secret"))
        let server = try Pair.server(trust: .pem(Pair.authority.certificatePEM), requiresPeerCertificate: true)
        #expect(Pair(client, server).connect() == (nil, nil))
    }

    @Test("a PKCS #12 file with another password, or damaged, is refused")
    func badPKCS12() throws {
        let directory = try TemporaryDirectory()
        let file = try exported(Self.issued.privateKeyPEM + Self.issued.certificatePEM, in: directory)
        for (password, message) in [
            ("", "the PKCS #12 file \(file) needs a password"),
            ("other", "the password of the PKCS #12 file \(file) is wrong"),
        ] {
            // What another call left behind is not the reason.
            _ = PKCS12_parse(nil, nil, nil, nil, nil)
            let identity = TLSContext.Identity.pkcs12(file: file, password: password)
            let failure = #expect(throws: TLSError.self) { try identity.certificate() }
            #expect(failure?.code == .wrongPassword && failure?.message == message)
        }
        let whole = try WholeFile.read(file.path, upTo: 100_000)
        let cut = FilePath(try directory.write(Array(whole.dropLast(100)), to: "cut.p12"))
        #expect(failure(identity: .pkcs12(file: cut, password: "secret")).code == .badPKCS12)
        let text = FilePath(try directory.write(Self.issued.certificatePEM, to: "text.p12"))
        #expect(
            failure(identity: .pkcs12(file: text, password: "secret")).message
                == "the PKCS #12 file \(text) is not a PKCS #12 file, or it is damaged")
        let start = "MH4CAQMweQYJKoZIhvcNAQcBoGwEajBoMGYGCSqGSIb3DQEHAaBZBFcwVTBTBgsqhkiG9w0BDAoBAaBEMEIC"
        let number = "AQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEKDAmAgEBBCF/" + String(repeating: "f39/", count: 10) + "f38="
        let bad = FilePath(try directory.write(#require(Base64.standard.decode(start + number)), to: "bad.p12"))
        #expect(failure(identity: .pkcs12(file: bad)).message == "the key in the PKCS #12 file \(bad) is damaged")
        let content = try #require(Base64.standard.decode("MBUCAQMwEAYJKoZIhvcNAQcBoAMEAXg="))
        let other = failure(identity: .pkcs12(file: FilePath(try directory.write(content, to: "bad.p12")))).message
        #expect(other == "the PKCS #12 file \(bad) cannot be read (parse error)")
    }

    /// A PKCS #12 file with the password `secret`, written by OpenSSL's program.
    private func exported(
        _ pem: String, in directory: TemporaryDirectory, _ options: [String] = []
    ) throws -> FilePath {
        let source = try directory.write(pem, to: "source.pem")
        let file = directory.file("app.p12")
        let files = ["-in", source, "-out", file, "-passout", "pass:secret"]
        try ChildProcess.run("/usr/bin/openssl", ["pkcs12", "-export"] + files + options)
        return FilePath(file)
    }

    private func failure(trust: TLSContext.Trust = .none, identity: TLSContext.Identity? = nil) -> TLSError {
        do throws(TLSError) {
            _ = try TLSContext(role: .client, trust: trust, identity: identity, protocols: [])
            preconditionFailure("this context should have been refused")
        } catch {
            return error
        }
    }
}
