import TLS
import Testing

@Suite
struct DigestTests {
    @Test("SHA-1 gives what FIPS 180 says, with one context for many texts")
    func sha1() {
        let sha1 = RepeatedSHA1()
        let million = String(repeating: "a", count: 1_000_000)
        for (text, expected) in [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ] {
            let digest = sha1.digest(Array(text.utf8))
            #expect(hex(digest.indices.map { digest[$0] }) == expected)
        }
    }

    @Test("SHA-256 gives what FIPS 180 says")
    func sha256() {
        #expect(hex(Digest.sha256([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            hex(Digest.sha256(Array("abc".utf8))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex(Digest.sha256(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)))
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
