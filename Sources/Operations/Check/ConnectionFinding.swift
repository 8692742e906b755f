package import Core

/// One thing that a look at a broker or at APNs has brought to light.
package struct ConnectionFinding: Sendable, Equatable {
    package enum Severity: String, Sendable, CaseIterable {
        case ok
        /// To be known, or looked at by other means.
        case note
        case warning
        /// It may pass by itself: a peer that is down, or the way to it.
        case unreachable
        /// It stays until someone changes something.
        case wrong

        package var isError: Bool { self == .unreachable || self == .wrong }
    }

    package let severity: Severity
    /// What was looked at: `login`, `queue push.requests` …
    package let subject: String
    package let text: String
    /// What to do.
    package let hint: String?

    init(_ severity: Severity, _ subject: String, _ text: String, hint: String? = nil) {
        self.severity = severity
        self.subject = subject
        self.text = text
        self.hint = hint
    }
}

/// Everything about one place that connections go to.
package struct ConnectionReport: Sendable {
    package enum Peer: String, Sendable {
        case broker, apns
    }

    package let peer: Peer
    package let endpoint: Endpoint
    /// What it is needed for.
    package let purpose: String
    package let findings: [ConnectionFinding]

    /// The findings for a person: one line for all queues that are missing.
    package var summary: [ConnectionFinding] {
        let missing = findings.filter(\.isMissingQueue)
        guard missing.count > 1, let place = findings.firstIndex(where: \.isMissingQueue) else { return findings }
        let names = missing.map { $0.subject.dropFirst("queue ".count) }.joined(separator: ", ")
        var summary = findings
        summary.removeAll(where: \.isMissingQueue)
        summary.insert(
            ConnectionFinding(
                missing[0].severity, "\(missing.count) queues", "\(ConnectionFinding.missing): \(names)",
                hint: missing[0].hint), at: place)
        return summary
    }
}

extension ConnectionFinding {
    static let missing = "missing"

    fileprivate var isMissingQueue: Bool { text == Self.missing && subject.hasPrefix("queue ") }
}

/// Where the addresses of a name come from: every one that the resolver has given for it, in digits; `nil` if it was
/// not asked.
package typealias LookedUp = (Endpoint) -> [String]?

extension ConnectionFinding {
    /// Why a connection did not come about, in the words of the innermost error: those that
    /// docs/operate/troubleshooting.md explains.
    static func failure(_ subject: String, _ error: any ComponentError, hint: String? = nil) -> ConnectionFinding {
        var cause: any ComponentError = error
        while let inner = cause.underlying as? any ComponentError { cause = inner }
        return ConnectionFinding(cause.isTransient ? .unreachable : .wrong, subject, cause.message, hint: hint)
    }

    /// - Returns: `nil` for an address in digits.
    static func addresses(of endpoint: Endpoint, _ lookedUp: LookedUp) -> ConnectionFinding? {
        guard let addresses = lookedUp(endpoint), !addresses.isEmpty else { return nil }
        let count = addresses.count == 1 ? "1 address" : "\(addresses.count) addresses"
        return ConnectionFinding(.ok, "dns", "\(count): \(addresses.joined(separator: ", "))")
    }
}
