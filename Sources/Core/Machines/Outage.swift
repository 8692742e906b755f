/// A peer or a program that does not work now.
package struct Outage: Equatable, Sendable {
    /// Its beginning; further failures do not change it.
    package let since: Instant
    /// The last failure, in one sentence.
    package let cause: String

    package init(since: Instant, cause: String) {
        self.since = since
        self.cause = cause
    }

    /// The outage after another failure.
    package static func after(_ previous: Outage?, _ error: some ComponentError, at now: Instant) -> Outage {
        Outage(since: previous?.since ?? now, cause: error.cause)
    }
}
