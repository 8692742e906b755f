import Core
import HTTP2

/// Checks how one connection uses the HPACK table.
///
/// Apple requires `:path` and `authorization` without indexing. `apns-id`, `apns-expiration` and `apns-collapse-id` may
/// be indexed once per connection. Source: "Sending notification requests to APNs".
struct HeaderIndexing {
    private var seen: Set<[UInt8]> = []

    /// - Returns: the number of fields in this request that violate these rules.
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
