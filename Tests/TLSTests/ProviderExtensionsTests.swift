import Core
import TestSupport
import Testing

@testable import TLS

@Suite("Apple's extensions of a provider certificate")
struct ProviderExtensionsTests {
    typealias Topic = ProviderExtensions.Topic

    /// As in the APNs Provider API.
    static let universal = [
        Topic("com.example.app", kinds: ["app"]), Topic("com.example.app.voip", kinds: ["voip"]),
        Topic("com.example.app.complication", kinds: ["complication"]),
    ]

    private func read(_ extensions: [X509Extension]) throws -> ProviderExtensions {
        let issued = Pair.authority.issue(usage: .client, subjectUID: "com.example.app", extensions: extensions)
        return try Certificate(pem: issued.certificatePEM).extensions
    }

    private func read(topics value: [UInt8]) throws -> ProviderExtensions {
        try read([X509Extension(identifier: "1.2.840.113635.100.6.3.6", value: value)])
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, UInt8(content.count)] + content
    }

    private static func text(_ text: String, tag: UInt8 = 0x0C) -> [UInt8] {
        element(tag, Array(text.utf8))
    }

    private static let damage = ["extension 1.2.840.113635.100.6.3.6 is damaged, its topics are not known"]

    @Test("An issued provider certificate lists its topics, their kinds and its environments")
    func issued() throws {
        let issued = Pair.authority.issueProvider(bundleID: "com.example.app", topics: Self.universal)
        let certificate = try Certificate(pem: issued.certificatePEM)
        #expect(certificate.subjectUID == "com.example.app")
        #expect(certificate.subjectCommonName == "Apple Push Services: com.example.app")
        #expect(certificate.extensions.topics == Self.universal)
        #expect(certificate.extensions.environments == [.production, .development])
        #expect(certificate.extensions.damage.isEmpty)
        #expect(certificate.pushTopics == Self.universal)
    }

    @Test("Without a list the subject's user ID is the topic; without a user ID there is no topic")
    func noList() throws {
        let mdm = Pair.authority.issueProvider(bundleID: "com.apple.mgmt.External.0f1e", environments: [.production])
        let certificate = try Certificate(pem: mdm.certificatePEM)
        #expect(certificate.extensions == ProviderExtensions(environments: [.production]))
        #expect(certificate.pushTopics == [Topic("com.apple.mgmt.External.0f1e")])
        #expect(try Certificate(pem: Pair.authority.certificatePEM).pushTopics.isEmpty)
    }

    @Test("A certificate encoded by OpenSSL is parsed to the same values")
    func foreign() throws {
        // openssl req -x509, with the extensions as docs/internals/simulator.md writes them, but Apple's first.
        let certificate = try Certificate(
            pem: """
                -----BEGIN CERTIFICATE-----
                MIICSTCCAe6gAwIBAgIUGGAMfl4InBRulRIwSJJSHEUlgf4wCgYIKoZIzj0EAwIwUDEfMB0GCgmSJomT8ixkAQEMD2NvbS5leGFtcGxl
                LmFwcDEtMCsGA1UEAwwkQXBwbGUgUHVzaCBTZXJ2aWNlczogY29tLmV4YW1wbGUuYXBwMCAXDTI2MTEyNzE5NTIyM1oYDzIxMjYxMTAz
                MTk1MjIzWjBQMR8wHQYKCZImiZPyLGQBAQwPY29tLmV4YW1wbGUuYXBwMS0wKwYDVQQDDCRBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20u
                ZXhhbXBsZS5hcHAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARvtHdpzL0cSq+YNQVnovm5bTHSWouwpwiOMStp9+WVXPCb2vNCy1Zu
                4B0bf3dSzrau5xK1NHwfJIzgxSWqOUSDo4GjMIGgMBAGCiqGSIb3Y2QGAwEEAgUAMBAGCiqGSIb3Y2QGAwIEAgUAMEYGCiqGSIb3Y2QG
                AwYEODA2DA9jb20uZXhhbXBsZS5hcHAwBQwDYXBwDBRjb20uZXhhbXBsZS5hcHAudm9pcDAGDAR2b2lwMBMGA1UdJQQMMAoGCCsGAQUF
                BwMCMB0GA1UdDgQWBBSGgNxAx0TQeNpLfXsh3rpN84k5azAKBggqhkjOPQQDAgNJADBGAiEAgwVAHJQS/NvCWBh26PL1NxBM1f+5dOL6
                9yy+ukIbXEYCIQCbpY76umGfGH4ARDE/ZGoCAF9B7CaRqoBVG6xGFDZq1g==
                -----END CERTIFICATE-----
                """)
        #expect(certificate.subjectUID == "com.example.app")
        #expect(certificate.extensions.topics == Array(Self.universal.prefix(2)))
        #expect(certificate.extensions.environments == [.production, .development])
    }

    @Test("Other string types, a set of kinds and topics without kinds are parsed as well")
    func variants() throws {
        let value = Self.element(
            0x30,
            Self.text("com.example.a", tag: 0x16) + Self.element(0x31, Self.text("app", tag: 0x13))
                + Self.text("com.example.b") + Self.text("com.example.c") + Self.element(0x30, []))
        let found = try read(topics: value)
        #expect(
            found.topics == [Topic("com.example.a", kinds: ["app"]), Topic("com.example.b"), Topic("com.example.c")])
        #expect(found.damage.isEmpty)
    }

    @Test("VoIP topics of the older extension are added once")
    func voip() throws {
        let older = X509Extension(
            identifier: "1.2.840.113635.100.6.3.4", value: Self.text("com.example.app.voip, com.example.b.voip"))
        #expect(
            try read([older]).topics
                == [
                    Topic("com.example.app.voip", kinds: ["voip"]), Topic("com.example.b.voip", kinds: ["voip"]),
                ])
        let both = ProviderExtensions(topics: Self.universal).encoded + [older]
        #expect(try read(both).topics == Self.universal + [Topic("com.example.b.voip", kinds: ["voip"])])
    }

    @Test("A list beyond 127 and 255 bytes is parsed completely", arguments: [10, 40, 2000])
    func long(count: Int) throws {
        let topics = (0..<count).map { Topic("com.example.app\($0)", kinds: ["app"]) }
        let found = try read(ProviderExtensions(topics: topics).encoded)
        #expect(found.topics == topics)
    }

    @Test(
        "A malformed extension gives no topic and is reported",
        arguments: [
            [], [0x30], [0x05, 0x00], [0x30, 0x00], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x85, 0, 0, 0, 0, 5] + text("a.b"),
            // A list and kinds of indefinite length.
            [0x30, 0x80] + text(String(repeating: "a", count: 126)), element(0x30, text("a.b") + [0x30, 0x80]),
            // Kinds before any topic, and twice after one.
            element(0x30, element(0x30, text("app"))),
            element(0x30, text("a.b") + element(0x30, text("app")) + element(0x30, text("voip"))),
            // A topic with a space or control character, an empty one, or one that is not UTF-8.
            element(0x30, text("a b")), element(0x30, text("a.b\0c")), element(0x30, text("")),
            element(0x30, element(0x0C, [0x61, 0xC3])), element(0x30, text("a.é")),
            // Numbers, bits and octets are not strings.
            element(0x30, [0x02, 0x01, 0x61]), element(0x30, [0x04, 0x01, 0x61]), element(0x30, [0x03, 0x02, 0, 0x61]),
            element(0x30, text("a.b")) + [0x00], element(0x30, text("a.b")).dropLast(),
            text("a.b,,c.d"),
        ] as [[UInt8]])
    func damaged(value: [UInt8]) throws {
        let found = try read(topics: value)
        #expect(found.topics.isEmpty)
        #expect(found.damage == Self.damage)
    }

    @Test("Lists are read to a depth of two, so that no certificate exhausts the stack")
    func depth() {
        let lists = (0..<3).reduce([UInt8]()) { inner, _ in Self.element(0x30, inner) }
        #expect(ASN1Value(lists) == nil)
        #expect(ASN1Value(Array(lists.dropFirst(2))) == .list([.list([])]))
    }

    @Test("A duplicate extension is not believed")
    func twice() throws {
        let extensions = ProviderExtensions(topics: Self.universal).encoded
        let found = try read(extensions + extensions)
        #expect(found.topics.isEmpty)
        #expect(found.damage == Self.damage)
    }

    @Test("A damaged certificate yields no topic that its bytes do not contain")
    func mutations() throws {
        let issued = Pair.authority.issueProvider(bundleID: "com.example.app", topics: Self.universal)
        let original = try #require(Self.der(issued.certificatePEM))
        var random = SplitMix64(seed: Mutator.seed(7))
        var read = 0
        for _ in 0..<Mutator.inputs(20_000) {
            var der = original
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                der[Int.random(in: der.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let length = Bool.random(using: &random) ? der.count : Int.random(in: 0...der.count, using: &random)
            guard let certificate = try? Certificate(pem: Self.pem(der.prefix(length))) else { continue }
            read += 1
            for topic in certificate.extensions.topics {
                // The bytes contain each parsed topic unchanged.
                #expect(!topic.name.isEmpty && der.firstRange(of: Array(topic.name.utf8)) != nil, "\(topic.name)")
                #expect(topic.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            }
        }
        #expect(read > 1000)
    }

    private static func pem(_ der: ArraySlice<UInt8>) -> String {
        "-----BEGIN CERTIFICATE-----\n\(Base64.standard.encode(Array(der)))\n-----END CERTIFICATE-----\n"
    }

    static func der(_ pem: String) -> [UInt8]? {
        Base64.standard.decode(pem.split(separator: "\n").dropFirst().dropLast().joined())
    }
}
