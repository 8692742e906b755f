import Core
import TLS

/// A provider token from a request: a JSON Web Token signed with ES256.
///
/// Source: "Establishing a token-based connection to APNs"; RFC 7515 and RFC 7519 for the form.
struct ProviderToken {
    let keyID: [UInt8]
    let teamID: [UInt8]
    /// `iat`, seconds since 1970 UTC.
    let issuedAt: Int64
    /// Header and claims in base64url with their dot: the signed text.
    let signed: ArraySlice<UInt8>
    /// r and s, 32 bytes each.
    let signature: [UInt8]

    /// The error in a token, for the log.
    struct Defect: Error {
        let cause: String
    }

    /// - Throws: unless the token has three base64url parts, `alg` ES256, a ten-character `kid` and `iss`, an integer
    ///   `iat` and a signature of 64 bytes.
    init(_ text: ArraySlice<UInt8>) throws(Defect) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Defect(cause: "the provider token has \(parts.count) parts between dots instead of 3")
        }
        let header = try Self.object(parts[0], "header")
        let claims = try Self.object(parts[1], "claims")
        let algorithm = try Self.string("alg", of: header)
        guard algorithm.equals("ES256") else { throw Defect(cause: "alg is \(quoted(algorithm)), not ES256") }
        keyID = try Self.identifier("kid", of: header)
        teamID = try Self.identifier("iss", of: claims)
        issuedAt = try Self.issuedAt(claims)
        guard let signature = Self.decode(parts[2]) else {
            throw Defect(cause: "the signature is not base64url")
        }
        guard signature.count == 64 else {
            throw Defect(cause: "the signature has \(signature.count) bytes instead of 64")
        }
        self.signature = signature
        signed = text[..<parts[1].endIndex]
    }

    private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        Base64.url.decode(part.span)
    }

    private static func object(_ part: ArraySlice<UInt8>, _ name: StaticString) throws(Defect) -> JSONObject {
        guard let text = decode(part) else {
            throw Defect(cause: "the \(name) of the provider token is not base64url")
        }
        guard let object = JSONObject(text[...]) else {
            throw Defect(cause: "the \(name) of the provider token is not a JSON object")
        }
        return object
    }

    private static func string(_ key: StaticString, of object: JSONObject) throws(Defect) -> ArraySlice<UInt8> {
        guard let member = object[key] else { throw Defect(cause: "\(key) is missing") }
        guard member.kind == .string else { throw Defect(cause: "\(key) is not a string") }
        return member.value
    }

    private static func identifier(_ key: StaticString, of object: JSONObject) throws(Defect) -> [UInt8] {
        let value = try string(key, of: object)
        guard value.count == 10 else { throw Defect(cause: "\(key) has \(value.count) characters instead of 10") }
        return Array(value)
    }

    private static func issuedAt(_ claims: JSONObject) throws(Defect) -> Int64 {
        guard let member = claims["iat"] else { throw Defect(cause: "iat is missing") }
        guard member.kind == .number else { throw Defect(cause: "iat is not a number") }
        guard let seconds = claims.integer("iat") else { throw Defect(cause: "iat is not a whole number of seconds") }
        return seconds
    }
}
