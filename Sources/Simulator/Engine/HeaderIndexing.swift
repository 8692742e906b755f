import Core
import HTTP2

/// Watches how one connection uses the HPACK table.
///
/// Apple asks for `:path` and `authorization` without indexing, and for `apns-id`, `apns-expiration` and
/// `apns-collapse-id` with indexing the first time and without it from then on. Source: "Sending notification requests
/// to APNs".
struct HeaderIndexing {
    private var seen: Set<[UInt8]> = []

    /// - Returns: how many fields of this request went into the table against the advice.
    mutating func violations(in request: HTTP2Request) -> Int {
        var violations = 0
        for (header, representation) in zip(request.headers, request.representations)
        where representation == .incrementalIndexing {
            let name = header.name
            if name.equals(":path") || name.equals("authorization") {
                violations += 1
            } else if name.equals("apns-id") || name.equals("apns-expiration") || name.equals("apns-collapse-id") {
                if !seen.insert(name).inserted { violations += 1 }
            }
        }
        return violations
    }
}
