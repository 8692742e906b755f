/// Who may see what is not public.
struct AdminAccess {
    /// `nil` lets everyone in.
    let token: [UInt8]?
    /// Whether requests without a token may name another host than loopback.
    let anyHost: Bool

    /// - Parameter authorization: the header's value.
    func allows(_ page: AdminPage?, _ authorization: String?) -> Bool {
        switch page?.access {
        case .everyone: true
        case .readers, nil: token == nil || hasToken(authorization)
        case .operators: hasToken(authorization)
        }
    }

    /// Source: RFC 6750, section 2.1.
    private func hasToken(_ authorization: String?) -> Bool {
        guard let token else { return false }
        guard let authorization else { return false }
        let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
        return Self.isEqual(Array(parts[1].drop { $0 == " " }.utf8), token)
    }

    /// Whether a request may be for us, by its `Host`.
    ///
    /// Where there is no token, a browser on this host is all that others could use: its own pages would come to this
    /// server under a name of theirs that leads here (DNS rebinding), so that only names of loopback are taken. A
    /// client that says none is no browser.
    func knows(_ host: HostName?) -> Bool {
        token != nil || anyHost || host?.isLoopback ?? true
    }

    /// Takes as long whichever byte is wrong, so that no one can guess them one after the other.
    private static func isEqual(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        var difference: UInt8 = given.count == expected.count ? 0 : 1
        for (index, byte) in expected.enumerated() {
            difference |= byte ^ (index < given.count ? given[index] : 0)
        }
        return difference == 0
    }
}
