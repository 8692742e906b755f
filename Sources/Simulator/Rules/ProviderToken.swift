import Core
import TLS

/// A provider token as it came: a JSON Web Token signed with ES256.
///
/// Source: "Establishing a token-based connection to APNs"; RFC 7515 and RFC 7519 for the form.
struct ProviderToken {
    let keyID: [UInt8]
    let teamID: [UInt8]
    /// `iat`, seconds since 1970 UTC.
    let issuedAt: Int64
    /// Header and claims in base64url with their dot: what was signed.
    let signed: ArraySlice<UInt8>
    /// r and s, 32 bytes each.
    let signature: [UInt8]

    /// - Returns: `nil` unless the token has three base64url parts, `alg` ES256, a ten-character `kid` and `iss`, an
    ///   integer `iat` and a signature of 64 bytes.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let headerText = Self.decode(parts[0]), let header = JSONObject(headerText[...]),
            let claimsText = Self.decode(parts[1]), let claims = JSONObject(claimsText[...]),
            let signature = Self.decode(parts[2]), signature.count == 64,
            let algorithm = header.string("alg"), algorithm.equals("ES256"),
            let keyID = header.string("kid"), keyID.count == 10,
            let teamID = claims.string("iss"), teamID.count == 10,
            let issuedAt = claims.integer("iat")
        else { return nil }
        self.keyID = Array(keyID)
        self.teamID = Array(teamID)
        self.issuedAt = issuedAt
        self.signature = signature
        signed = text[..<parts[1].endIndex]
    }

    private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        Base64.url.decode(part.span)
    }
}
