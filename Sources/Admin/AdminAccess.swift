/// Access control for pages that are not public.
struct AdminAccess {
    /// `nil` allows every client.
    let token: [UInt8]?
    /// How to allow other hosts than loopback in requests without a token; `nil` where any host is allowed.
    let loopbackOnlyAdvice: StaticString?

    /// Source: RFC 6750, section 2.1.
    func allows(_ page: AdminPage?, _ authorization: String?) -> Bool {
        guard let token, page?.isPublic != true else { return true }
        guard let authorization else { return false }
        let parts = authorization.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
        return Self.isEqual(Array(parts[1].utf8), token)
    }

    /// Checks a request's `Host`.
    ///
    /// Without a token, a malicious site could access the server through a browser on this host, under a name that
    /// resolves to it (DNS rebinding). So only loopback names are accepted. A client that sends no `Host` is not a
    /// browser.
    ///
    /// - Parameter given: the values of all header lines with this name.
    /// - Returns: the advice for a client whose request is refused.
    func refusal(of given: [String]) -> StaticString? {
        token == nil && !given.allSatisfy(Self.isLoopback) ? loopbackOnlyAdvice : nil
    }

    /// Whether it is a loopback name, optionally with a port. Digits and dots alone are not a name that can be
    /// registered.
    private static func isLoopback(_ host: String) -> Bool {
        host.lowercased().wholeMatch(of: #/(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?/#) != nil
    }

    /// Compares in constant time, so that the token cannot be guessed byte by byte.
    private static func isEqual(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        var difference: UInt8 = given.count == expected.count ? 0 : 1
        for (index, byte) in expected.enumerated() {
            difference |= byte ^ (index < given.count ? given[index] : 0)
        }
        return difference == 0
    }
}
