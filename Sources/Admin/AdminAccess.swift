/// Who may see what is not public.
struct AdminAccess {
    /// `nil` lets everyone in.
    let token: [UInt8]?

    /// - Parameter authorization: the header's value. Source: RFC 6750, section 2.1.
    func allows(_ authorization: String?) -> Bool {
        guard let token else { return true }
        guard let authorization else { return false }
        let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
        return Self.isEqual(Array(parts[1].drop { $0 == " " }.utf8), token)
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
