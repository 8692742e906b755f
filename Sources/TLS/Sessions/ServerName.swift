import Glibc

/// Notations of a host name.
enum ServerName {
    static func isAddress(_ host: String) -> Bool {
        var room = in6_addr()
        return unsafe inet_pton(AF_INET, host, &room) == 1 || inet_pton(AF_INET6, host, &room) == 1
    }

    /// Certificates and the server name extension have no final dot (RFC 6066 section 3).
    static func withoutFinalDot(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
