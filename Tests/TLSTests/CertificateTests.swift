import Core
import TLS
import Testing

@Suite
struct CertificateTests {
    @Test("an issued certificate has the requested fields, and negative seconds are left after its end")
    func fields() throws {
        let until = WallTime(milliseconds: Pair.now.milliseconds + 30 * Pair.day)
        let issued = Pair.authority.issue(
            names: ["a.example", "*.b.example"], addresses: ["10.1.2.3", "2001:db8::7"], validFrom: Pair.now,
            validUntil: until, usage: .client, commonName: "Apple Push Services: com.example.app",
            subjectUID: "com.example.app")
        let certificate = try Certificate(pem: issued.certificatePEM)
        #expect(certificate.subjectCommonName == "Apple Push Services: com.example.app")
        #expect(certificate.subjectUID == "com.example.app" && certificate.issuerCommonName == "Test authority")
        #expect(certificate.notBefore == Pair.now && certificate.notAfter == until)
        #expect(certificate.subjectAlternativeNames == ["a.example", "*.b.example", "10.1.2.3", "2001:db8::7"])
        let der = try #require(ProviderExtensionsTests.der(issued.certificatePEM))
        #expect(der.firstRange(of: [0xA0, 3, 2, 1, 2, 2, 1, 0] as [UInt8]) == nil, "version 3, serial number 0")
        #expect(certificate.secondsLeft(at: Pair.now) == 2_592_000)
        #expect(certificate.secondsLeft(at: WallTime(milliseconds: until.milliseconds + 10_000)) == -10)
    }

    @Test("missing fields of an authority's certificate are absent, and it is valid for ten years")
    func absent() throws {
        let certificate = try Certificate(pem: Pair.authority.certificatePEM)
        #expect(certificate.subjectCommonName == "Test authority")
        #expect(certificate.notBefore.milliseconds == Pair.now.milliseconds - Pair.day)
        #expect(certificate.notAfter.milliseconds == Pair.now.milliseconds + 3650 * Pair.day)
        #expect(certificate.subjectUID == nil && certificate.subjectAlternativeNames.isEmpty)
    }

    @Test("dates beyond 2050 are parsed as well")
    func lateDates() throws {
        let late = WallTime(milliseconds: 4_102_444_800_000)
        let issued = Pair.authority.issue(names: ["a.example"], validUntil: late, usage: .server)
        #expect(try Certificate(pem: issued.certificatePEM).notAfter == late)
    }
}
