import Core
import Decoding
import TLS

/// A provider token from a request: a JSON Web Token signed with ES256.
///
/// Source: "Establishing a token-based connection to APNs"; RFC 7515 and RFC 7519 for the form.
struct PresentedToken {
    let keyID: String
    let teamID: String
    /// `iat`, seconds since 1970 UTC.
    let issuedAt: Int64
    /// Header and claims in base64url with their dot: the signed text.
    let signed: ArraySlice<UInt8>
    /// r and s, 32 bytes each (RFC 7518), or DER, as the shell lines in Apple's text sign.
    let signature: [UInt8]

    /// - Throws: unless the token has three base64url parts, `alg` ES256, a ten-character `kid` and `iss`, an integer
    ///   `iat` and a signature.
    init(_ text: ArraySlice<UInt8>) throws(SimulatedResponse) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Self.invalid("the provider token has \(parts.count) parts between dots instead of 3")
        }
        let header = try Self.object(parts[0], "header")
        let claims = try Self.object(parts[1], "claims")
        let algorithm = try Self.string("alg", of: header)
        guard algorithm.equals("ES256") else { throw Self.invalid("alg is \(quoted(algorithm)), not ES256") }
        keyID = try Self.identifier("kid", of: header)
        teamID = try Self.identifier("iss", of: claims)
        let issued = try Self.member("iat", of: claims)
        guard issued.kind == .number else { throw Self.invalid("iat is not a number") }
        guard let seconds = issued.integer else { throw Self.invalid("iat is not a whole number of seconds") }
        issuedAt = seconds
        guard let signature = Self.decode(parts[2]) else { throw Self.invalid("the signature is not base64url") }
        let isDER = signature.count > 2 && signature[0] == 0x30 && Int(signature[1]) == signature.count - 2
        guard signature.count == 64 || isDER else {
            throw Self.invalid("the signature is neither 64 bytes (r and s) nor DER, but \(signature.count) bytes")
        }
        self.signature = signature
        signed = text[..<parts[1].endIndex]
    }

    private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        Base64.url.decode(part.span)
    }

    static func invalid(_ cause: String) -> SimulatedResponse {
        SimulatedResponse(403, "InvalidProviderToken", cause)
    }

    private static func object(_ part: ArraySlice<UInt8>, _ name: String) throws(SimulatedResponse) -> JSONPart {
        guard let text = decode(part) else {
            throw invalid("the \(name) of the provider token is not base64url")
        }
        guard let object = RequestRules.object(text) else {
            throw invalid("the \(name) of the provider token is not a JSON object")
        }
        return object
    }

    private static func member(_ key: String, of object: JSONPart) throws(SimulatedResponse) -> JSONPart {
        guard let member = object[key] else { throw invalid("\(key) is missing") }
        return member
    }

    private static func string(_ key: String, of object: JSONPart) throws(SimulatedResponse) -> ArraySlice<UInt8> {
        guard let text = try member(key, of: object).text else { throw invalid("\(key) is not a string") }
        return text
    }

    private static func identifier(_ key: String, of object: JSONPart) throws(SimulatedResponse) -> String {
        let value = try string(key, of: object)
        guard value.count == 10 else { throw invalid("\(key) has \(value.count) characters instead of 10") }
        return String(decoding: value, as: UTF8.self)
    }
}
