import Core
import Testing

@Suite
struct Base64Tests {
    @Test(
        "the vectors of RFC 4648 are encoded and decoded, with and without padding",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(plain: String, encoded: String) {
        #expect(Base64.standard.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.standard.decode(encoded) == Array(plain.utf8))
        let unpadded = encoded.filter { $0 != "=" }
        #expect(Base64.url.encode(Array(plain.utf8)) == unpadded)
        #expect(Base64.url.decode(unpadded) == Array(plain.utf8))
    }

    @Test("the vector of RFC 7515 uses both URL-safe characters")
    func alphabet() {
        #expect(Base64.url.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64.url.decode("A-z_4ME") == [3, 236, 255, 224, 193])
        #expect(Base64.standard.encode([3, 236, 255, 224, 193]) == "A+z/4ME=")
        #expect(Base64.standard.decode("A+z/4ME=") == [3, 236, 255, 224, 193])
    }

    @Test("every byte survives encoding and decoding in every position")
    func everyByte() {
        for byte in UInt8.min...UInt8.max {
            for position in 0..<4 {
                var bytes: [UInt8] = [1, 2, 3, 4]
                bytes[position] = byte
                #expect(Base64.url.decode(Base64.url.encode(bytes)) == bytes)
                #expect(Base64.standard.decode(Base64.standard.encode(bytes)) == bytes)
            }
        }
    }

    @Test(
        "only canonical encodings are decoded", arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm8=", "Zm 8", "+z/4ME", "Zg\n"])
    func refused(text: String) {
        #expect(Base64.url.decode(text) == nil)
    }

    @Test(
        "missing, excess and inner padding is refused",
        arguments: ["Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==", "Z===", "A===", "A-z_4ME=", "Zm9v\n"])
    func refusedPadding(text: String) {
        #expect(Base64.standard.decode(text) == nil)
    }
}
